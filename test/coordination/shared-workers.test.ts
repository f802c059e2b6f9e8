/** Failures of a worker in gears that share a store: one count per session, one trip, told once. */

import assert from 'node:assert/strict';
import type { Entry } from '../../src/core/event.ts';
import { createSwitchgear, refusalOf, type Switchgear } from '../../src/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import type { SqliteStore } from '../../src/stores/sqlite/index.ts';
import { startRedis, testWithRedis } from '../redis-server.ts';
import { bothStores, testOn, until } from '../stores/both-stores.ts';

const { kinds, newPlace } = bothStores();

const words = 'I cannot draw charts.';

/** A process with a supervisor in it. */
function side(store: SqliteStore, onTrip: 'deny' | 'halt' = 'deny', session = 'talk') {
  const policy = { delegation: { onTrip } };
  const gear = createSwitchgear({ store, session, agent: 'Supervisor', policy, log: 'silent', env: {} });
  const heard: Entry[] = [];
  gear.onEntry((entry) => entry.type === 'delegation-returned' && heard.push(entry));
  return { store, gear, heard };
}

/** Sends the worker out once, and says why it was not. */
async function send(gear: Switchgear, answer = words): Promise<string | undefined> {
  const result = await gear.task({}, () => gear.delegate('chef', () => answer));
  return result.status === 'halted' ? result.halt.code : refusalOf(result.value)?.code;
}

const failuresIn = ({ store, gear }: ReturnType<typeof side>) => {
  store.shared.refresh();
  return gear.snapshot().delegations.talk?.chef ?? 0;
};

async function returnsIn({ store }: ReturnType<typeof side>) {
  const entries = await store.shared.entries(0, 1_000);
  return entries.filter((entry) => entry.type === 'delegation-returned');
}

async function storedIn({ store }: ReturnType<typeof side>) {
  const [stored] = await store.shared.read('worker/talk/', 10);
  return stored?.state as { readonly failures: number } | undefined;
}

for (const [name, make] of Object.entries(kinds)) {
  const test = testOn(name);
  const two = async (onTrip?: 'deny' | 'halt') => {
    const place = newPlace();
    return [side(await make(place), onTrip), side(await make(place), onTrip)] as const;
  };

  test(`${name}: failures of one session add up over processes, and the trip is written once`, async () => {
    const [one, other] = await two();
    assert.equal(await send(other.gear, 'Here is the chart.'), undefined); // It knows the worker before it fails.
    assert.equal(await send(one.gear), undefined);
    await until(() => failuresIn(other) === 1);
    assert.equal(await send(other.gear), undefined);
    await until(() => failuresIn(one) === 2);
    for (const { gear } of [one, other]) assert.equal(await send(gear), 'delegation_limit');
    await one.store.shared.settled();
    await other.store.shared.settled();
    const failed = (await returnsIn(one)).filter((entry) => entry.failed);
    assert.deepEqual(
      failed.map(({ actual, limit, session, agent }) => ({ actual, limit, session, agent })),
      [1, 2].map((actual) => ({ actual, limit: 2, session: 'talk', agent: 'Supervisor' })),
    );
    // Each is heard where it happened, by the number that the journal gave.
    assert.deepEqual([...one.heard, ...other.heard.filter((entry) => 'failed' in entry && entry.failed)], failed);
    for (const { gear } of [one, other]) gear.dispose();
  });

  test(`${name}: failures at the same moment are counted one by one`, async () => {
    const [one, other] = await two();
    await Promise.all([one, other].map(({ gear }) => send(gear)));
    await until(async () => (await returnsIn(one)).length === 2);
    assert.deepEqual(
      (await returnsIn(one)).map(({ actual }) => actual),
      [1, 2],
    );
    await until(() => failuresIn(one) === 2 && failuresIn(other) === 2);
    for (const { gear } of [one, other]) gear.dispose();
  });

  test(`${name}: a halting trip also halts the session in the other process, and no other session`, async () => {
    const [one, other] = await two('halt');
    const apart = side(one.store, 'halt', 'another talk');
    assert.equal(await send(other.gear, 'Here is the chart.'), undefined);
    assert.equal(await send(one.gear), undefined);
    assert.equal(await send(one.gear), 'delegation_limit');
    await until(() => failuresIn(other) === 2);
    assert.equal(await send(other.gear, 'Here is the chart.'), 'delegation_limit');
    assert.equal(await send(apart.gear, 'Here is the chart.'), undefined);
    for (const { gear } of [one, other, apart]) gear.dispose();
  });

  test(`${name}: of two failures at the same moment the second halts its session at once`, async () => {
    const sides = await two('halt');
    let halts = 0;
    const tasks = sides.map(({ gear }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const task = gear.task({}, async ({ signal }) => {
        signal.addEventListener('abort', () => {
          halts++;
          resolve();
        });
        await gear.delegate('chef', () => words);
        await promise;
      });
      return { task, resolve };
    });
    await until(async () => (await returnsIn(sides[0])).length === 2);
    for (const { store } of sides) await store.shared.settled();
    await until(async () => halts > 0);
    for (const { resolve } of tasks) resolve();
    const results = await Promise.all(tasks.map(({ task }) => task));
    const codes = results.map((result) => (result.status === 'halted' ? result.halt.code : result.status));
    assert.deepEqual(codes.toSorted(), ['delegation_limit', 'done']);
    for (const { gear } of sides) gear.dispose();
  });

  test(`${name}: the texts of a worker are not written to the store`, async () => {
    const [one, other] = await two();
    await send(one.gear);
    await one.store.shared.settled();
    const stored = await storedIn(other);
    assert.equal(stored?.failures, 1);
    assert.doesNotMatch(JSON.stringify([stored, await returnsIn(other)]), /charts/);
    for (const { gear } of [one, other]) gear.dispose();
  });
}

testWithRedis('failures while the store is away count at once, and reach the others later', async () => {
  const own = await startRedis();
  const open = () => redisStore({ url: own.url, graceMs: 0, deadlineMs: 100 });
  const [one, other] = [side(await open()), side(await open())];
  own.signal('SIGSTOP');
  assert.equal(await send(one.gear), undefined);
  assert.equal(await send(one.gear), undefined);
  assert.equal(await send(one.gear), 'delegation_limit');
  assert.deepEqual(one.heard, []);
  own.signal('SIGCONT');
  await until(async () => (await returnsIn(other)).length === 2);
  await until(() => one.heard.length === 2);
  assert.equal(await send(other.gear), 'delegation_limit');
  assert.equal(failuresIn(one), 2);
  for (const { gear } of [one, other]) gear.dispose();
  await own.stop();
});
