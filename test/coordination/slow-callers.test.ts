/** Callers on Redis that cannot wait for it: refused while the request is out, they come back when it suits them. */

import assert from 'node:assert/strict';
import { createSwitchgear, type PolicyInput, refusalOf, type Switchgear } from '../../src/index.ts';
import '../../src/policy/index.ts';
import type { Cell } from '../../src/ports/store.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { testWithRedis as test } from '../redis-server.ts';
import { storePlace, until } from '../stores/both-stores.ts';

const { server } = storePlace();
let places = 0;

/** A gear whose time is moved by hand, on a prefix of its own or on a given one. */
async function side(
  policy: PolicyInput | undefined,
  { clock = simulatedClock(1_000_000), prefix = `slow${++places}` } = {},
) {
  const store = await redisStore({ url: server().url, prefix, graceMs: 0, deadlineMs: 1_000, clock });
  const gear = createSwitchgear({
    store,
    clock,
    project: 'p',
    agent: 'A',
    ...(policy && { policy }),
    log: 'silent',
    env: {},
  });
  return { gear, store, clock, prefix };
}

/** Promises go on, the network does not. */
async function withoutNetwork(clock: ReturnType<typeof simulatedClock>, forMs: number): Promise<void> {
  for (let ms = 0; ms < forMs; ms += 10) {
    for (let turn = 0; turn < 20; turn++) await undefined;
    clock.advance(10);
  }
}

function breakTool(gear: Switchgear, name: string, call: () => unknown): void {
  for (let failure = 0; failure < 5; failure++) assert.throws(call);
  assert.equal(gear.breaker(name).state, 'OPEN');
}

for (const pauseSecs of [2, 10, 50]) {
  test(`a recovered synchronous tool closes its breaker for a caller every ${pauseSecs} s`, async () => {
    const { gear, store, clock } = await side({ circuitBreaker: { successThreshold: 1 } });
    let isBroken = true;
    const tool = gear.guard('tool', () => {
      if (isBroken) throw new Error('no');
      return 'fine';
    });
    breakTool(gear, 'tool', tool);
    isBroken = false;
    clock.advance(61_000);
    let answer: unknown = tool();
    assert.equal(refusalOf(answer)?.remediation.includes('(1s)'), true, 'it is told to come back soon');
    for (let tries = 0; tries < 4 && answer !== 'fine'; tries++) {
      await store.shared.settled();
      for (let secs = 0; secs < pauseSecs; secs++) {
        clock.advance(1_000);
        await store.shared.settled();
      }
      answer = tool();
    }
    assert.equal(answer, 'fine');
    assert.equal(gear.breaker('tool').state, 'CLOSED');
    gear.dispose();
  });
}

test('a granted probe is reserved for its caller, and returned if the caller does not come', async () => {
  const policy = { circuitBreaker: { successThreshold: 1 } };
  const one = await side(policy);
  const other = await side(policy, one);
  const [mine, theirs] = [one, other].map(({ gear }) => {
    let calls = 0;
    return gear.guard('tool', () => {
      if (++calls <= 5) throw new Error('no');
      return 'fine';
    });
  });
  breakTool(one.gear, 'tool', mine!);
  const opened = () => (other.store.cell('breaker/p/agent/A/tool', () => null) as Cell).version > 0;
  await until(opened);
  one.clock.advance(61_000);
  assert.equal(refusalOf(mine!())?.code, 'circuit_open');
  await one.store.shared.settled();
  for (let secs = 0; secs < 14; secs++) {
    one.clock.advance(1_000);
    await one.store.shared.settled();
    assert.equal(refusalOf(theirs!())?.code, 'circuit_open', `${secs} s later`);
    await other.store.shared.settled();
  }
  one.clock.advance(2_000);
  await one.store.shared.settled();
  const stored = await other.store.shared.read('breaker/', 1);
  assert.deepEqual(
    stored.map(({ state }) => (state as { readonly probes: unknown }).probes),
    [[]],
  );
  for (const { gear } of [one, other]) gear.dispose();
});

for (const policy of [undefined, { preset: 'default' as const }]) {
  const whose = policy === undefined ? 'without a policy' : 'with a policy';

  /** A tool that failed five times, is well again, and may be probed. */
  async function healed() {
    const made = await side(policy);
    let isBroken = true;
    const tool = made.gear.guard('tool', async () => {
      if (isBroken) throw new Error('no');
      return 'fine';
    });
    for (let failure = 0; failure < 5; failure++) await assert.rejects(tool());
    isBroken = false;
    made.clock.advance(61_000);
    const types = () => made.gear.journal().map(({ type }) => type);
    return { ...made, tool, types };
  }

  test(`${whose}: a call that waits for its probe writes no journal entry`, async () => {
    const { gear, store, clock, tool, types } = await healed();
    const answer = tool();
    for (let look = 0; look < 20; look++) {
      await store.shared.settled();
      clock.advance(10);
    }
    assert.equal(await answer, 'fine');
    assert.ok(!types().includes('action-waited'), types().join(' '));
    gear.dispose();
  });

  test(`${whose}: a call waits for a slow probe grant`, async () => {
    const { gear, store, clock, tool } = await healed();
    const answer = tool();
    await withoutNetwork(clock, 300);
    for (let look = 0; look < 100; look++) {
      await store.shared.settled();
      clock.advance(10);
    }
    assert.equal(await answer, 'fine');
    gear.dispose();
  });

  test(`${whose}: a call without a timely probe grant is refused, with one journal entry`, async () => {
    const { gear, clock, tool, types } = await healed();
    const answer = tool();
    await withoutNetwork(clock, 3_000);
    assert.equal(refusalOf(await answer)?.code, 'circuit_open');
    assert.equal(types().filter((type) => type === 'action-refused').length, 1, types().join(' '));
    assert.ok(!types().includes('action-waited'));
    gear.dispose();
  });
}

test('a synchronous tool under a frequency rule passes on a retry, and never above the limit', async () => {
  const rules = [{ target: 'tool:mail', condition: 'frequency>3/1m', action: 'throttle' }] as const;
  const { gear, store, clock } = await side({ rules });
  const sentAtMs: number[] = [];
  const mail = gear.guard('mail', () => void sentAtMs.push(clock.nowMs()));
  for (let tries = 0; tries < 60; tries++) {
    mail();
    await store.shared.settled();
    clock.advance(7_000);
  }
  assert.ok(sentAtMs.length >= 15, `sent ${sentAtMs.length} of at most 21 in 7 minutes`);
  for (const atMs of sentAtMs) {
    const inWindow = sentAtMs.filter((one) => one <= atMs && one > atMs - 60_000);
    assert.ok(inWindow.length <= 3, `${inWindow.length} within a minute`);
  }
  gear.dispose();
});

test('a call waits for a slow budget grant', async () => {
  const budgets = [{ scope: 'global', unit: 'calls', limit: 5 }] as const;
  const { gear, store, clock } = await side({ budgets });
  const answer = gear.guard('tool', async () => 'done')();
  await withoutNetwork(clock, 300);
  for (let look = 0; look < 100; look++) {
    await store.shared.settled();
    clock.advance(10);
  }
  assert.equal(await answer, 'done');
  gear.dispose();
});
