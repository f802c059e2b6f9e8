/** Attacks on the memory of one process: names without end, so that what is spent or tripped is forgotten. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused, refusalOf, type Switchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function budgeted(scope: 'session' | 'agent') {
  const clock = simulatedClock();
  const budgets = [{ scope, unit: 'calls' as const, limit: 3 }];
  const gear = createSwitchgear({ clock, policy: { budgets, loop: { enabled: false } }, log: 'silent', env: {} });
  let n = 0;
  const look = gear.guard('look', (_n: number) => 'page');
  const spend = (name: string, calls: number): number => {
    const task = gear.startTask({ parent: null, ...(scope === 'session' ? { session: name } : { agent: name }) });
    let ran = 0;
    for (let at = 0; at < calls; at++) if (!isRefused(task.run(() => look(n++)))) ran++;
    task.end();
    return ran;
  };
  return { gear, clock, spend };
}

test('attack 33: a spent budget is spent after many thousand other sessions or agents', () => {
  for (const scope of ['session', 'agent'] as const) {
    const { spend, gear } = budgeted(scope);
    assert.equal(spend('a', 5), 3);
    assert.equal(spend('half', 2), 2);
    for (let other = 0; other < 10_100; other++) spend(`other ${other}`, other % 2);
    for (let other = 0; other < 10_100; other++) spend(`idle ${other}`, 0);
    assert.equal(spend('a', 5), 0, scope);
    assert.equal(spend('half', 5), 1, scope);
    assert.equal(spend('other 1', 5), 2, scope);
    assert.ok(!gear.journal().some(({ type }) => type === 'store-degraded'));
  }
});

test('attack 33: what a task spends counts, though its session was forgotten while it had spent nothing', () => {
  const { gear, spend } = budgeted('session');
  const look = gear.guard('late', (n: number) => n);
  const waiting = gear.startTask({ parent: null, session: 'a' });
  for (let other = 0; other < 10_100; other++) spend(`other ${other}`, 0);
  for (let n = 0; n < 3; n++) assert.ok(!isRefused(waiting.run(() => look(n))));
  assert.equal(spend('a', 5), 0);
});

test('attack 33: a reload of the policy forgets no spent budget', async () => {
  const { gear, spend } = budgeted('session');
  assert.equal(spend('a', 5), 3);
  for (let other = 0; other < 10_100; other++) spend(`other ${other}`, 0);
  await gear.reload({ budgets: [{ scope: 'session', unit: 'calls', limit: 4 }], loop: { enabled: false } });
  assert.equal(spend('a', 5), 1);
});

/** Delegates to a worker that fails; returns whether it was started. */
async function fail(gear: Switchgear, session: string, worker: string): Promise<boolean> {
  const task = gear.startTask({ parent: null, session });
  let isStarted = false;
  const answer = await task.run(() =>
    gear.delegate(worker, () => {
      isStarted = true;
      return { status: 'failed' };
    }),
  );
  if (!isStarted) assert.equal(refusalOf(answer)?.code, 'delegation_limit');
  task.end();
  return isStarted;
}

test('attack 33: a tripped worker stays tripped after more than a hundred thousand other workers', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {}, policy: { delegation: { onTrip: 'deny' } } });
  await fail(gear, 'a', 'chef');
  await fail(gear, 'a', 'chef');
  assert.equal(await fail(gear, 'a', 'chef'), false);
  await fail(gear, 'a', 'waiter');
  const task = gear.startTask({ parent: null, session: 'b' });
  await task.run(async () => {
    for (let other = 0; other < 101_000; other++) await gear.delegate(`worker ${other}`, () => ({ status: 'done' }));
  });
  task.end();
  assert.equal(await fail(gear, 'a', 'chef'), false);
  await fail(gear, 'a', 'waiter');
  assert.equal(await fail(gear, 'a', 'waiter'), false);
});
