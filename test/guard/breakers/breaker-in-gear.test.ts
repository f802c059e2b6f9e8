/** The breaker inside a gear, where several parts must agree on who holds a probe and how long a window is. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused } from '../../../src/index.ts';
import { promisesSettled, simulatedClock } from '../../../src/testing/simulated-clock.ts';

function geared(breaker: Readonly<Record<string, unknown>>) {
  const clock = simulatedClock(1_000_000);
  const policy = { circuit_breaker: breaker };
  return { clock, gear: createSwitchgear({ clock, log: 'silent', env: {}, policy }) };
}

test('a probe admitted after the lease of an earlier probe expired closes the breaker', () => {
  const { clock, gear } = geared({ failureThreshold: 1, successThreshold: 1, leaseExpiry: 'neutral', leaseSecs: 15 });
  const pass = () => {
    const admission = gear.admit('tool', []);
    assert.equal(admission.refused, undefined);
    return admission;
  };
  pass().settle({ error: new Error('down') });
  clock.advance(60_000);
  const lost = pass();
  assert.notEqual(gear.admit('tool', []).refused, undefined);
  clock.advance(15_000);
  const probe = pass();
  probe.settle({ value: 'well' });
  assert.equal(gear.breaker('tool').state, 'CLOSED');
  lost.settle({ error: new Error('much too late') });
  assert.equal(gear.breaker('tool').state, 'CLOSED');
  assert.equal(gear.breaker('tool').stats.lateResults, 1);
});

test('the gear renews the lease of a slow probe, and the success of the probe closes the breaker', async () => {
  const { clock, gear } = geared({ failureThreshold: 1, successThreshold: 1, leaseSecs: 15 });
  let work = Promise.withResolvers<string>();
  const tool = gear.guard('tool', () => work.promise, { timeoutSecs: 0, async: true });
  const failing = assert.rejects(tool() as Promise<unknown>);
  work.reject(new Error('down'));
  await failing;
  await clock.elapse(60_000);
  work = Promise.withResolvers();
  const probe = tool();
  await clock.elapse(120_000);
  assert.equal(gear.breaker('tool').state, 'HALF_OPEN');
  work.resolve('well');
  assert.equal(await probe, 'well');
  assert.equal(gear.breaker('tool').state, 'CLOSED');
});

for (const [from, to] of [
  [97, 100],
  [100, 97],
  [3, 5],
  [5, 3],
] as const) {
  test(`a window resized from ${from} to ${to} calls counts correctly`, () => {
    const said = (windowCalls: number) => ({ trip: 'count_window', failureThreshold: 3, windowCalls }) as const;
    const { gear } = geared(said(from));
    const tool = gear.guard('tool', (fails: boolean) => (fails ? { isError: true } : 'fine'));
    for (let call = 0; call < Math.min(from, to); call++) tool(call < 2);
    gear.reload({ circuit_breaker: said(to) });
    const state = () => gear.breaker('tool').state;
    for (let call = 0; call < 2 * to; call++) tool(false);
    for (let round = 0; round < 3; round++) {
      for (let call = 0; call < to; call++) tool(call < 2);
      assert.equal(state(), 'CLOSED', 'two failures in any window are not three');
    }
    for (let call = 0; call < to; call++) tool(false);
    for (let call = 0; call < 2; call++) tool(true);
    assert.equal(state(), 'CLOSED');
    tool(true);
    assert.equal(state(), 'OPEN');
  });
}

test('a breaker held before the first call refuses the tool, also at a clock time of zero or less', async () => {
  for (const startMs of [0, -5_000]) {
    const clock = simulatedClock(startMs);
    const gear = createSwitchgear({ clock, log: 'silent', env: {} });
    gear.breaker('tool').hold();
    const tool = gear.guard('tool', async () => 1);
    assert.ok(isRefused(await tool()), `held at ${startMs}`);
    gear.breaker('tool').release();
    assert.equal(await tool(), 1);
  }
});

test('an invalid value in a tool’s settings is an error and never switches its breaker off', async () => {
  const { gear } = geared({});
  for (const breaker of [{ mode: 'enforced' }, { trip: 'consecutve' }, { failureThreshold: 2.5 }]) {
    assert.throws(() => gear.guard('tool', async () => 1, { breaker: breaker as never }), { name: 'SwitchgearError' });
  }
  await promisesSettled();
});
