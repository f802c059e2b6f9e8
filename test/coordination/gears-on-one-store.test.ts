/** Gears that share a store: one breaker, one probe, one trip, and loud words when the store is away. */

import assert from 'node:assert/strict';
import type { BreakerState } from '../../src/core/controls/breaker/state.ts';
import { localProbeAfterMs } from '../../src/core/limits.ts';
import { createSwitchgear, isRefused, refusalOf } from '../../src/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import type { SqliteStore } from '../../src/stores/sqlite/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { startRedis, testWithRedis } from '../redis-server.ts';
import { bothStores, testOn, until } from '../stores/both-stores.ts';

const { kinds, newPlace } = bothStores();

const breaker = { recoveryTimeoutSecs: 0.2, successThreshold: 1 };
const gearOf = (store: SqliteStore) => createSwitchgear({ store, project: 'p', log: 'silent', env: {} });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

for (const [name, make] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: a breaker that opens in one process refuses in the other, and closes for both`, async () => {
    const place = newPlace();
    const gears = [gearOf(await make(place)), gearOf(await make(place))] as const;
    let fails = true;
    let ran = 0;
    let out = 0;
    let most = 0;
    const tool = async () => {
      ran++;
      if (fails) throw new Error('down');
      most = Math.max(most, ++out);
      await pause(60);
      out--;
      return 'well';
    };
    const [one, two] = gears.map((gear) => gear.guard('search', tool, { breaker })) as [typeof tool, typeof tool];
    const entries: string[] = [];
    for (const gear of gears) gear.onEntry(({ type }) => entries.push(type));
    for (const call of [one, two, one, two, one]) {
      await assert.rejects(call(), /down/);
      await pause(name === 'in Redis' ? 20 : 0);
    }
    if (name === 'in Redis') await until(() => gears.every((gear) => gear.breaker('search').state !== 'CLOSED'));
    for (const call of [one, two]) assert.equal(refusalOf(await call())?.code, 'circuit_open');
    assert.equal(ran, 5);
    assert.deepEqual(
      entries.filter((type) => type === 'breaker-opened'),
      ['breaker-opened'],
    );
    fails = false;
    await pause(230);
    const answers = await Promise.all([one(), two(), one(), two()]);
    assert.ok(answers.includes('well'));
    assert.equal(most, 1, 'one probe at a time for all');
    await pause(30);
    assert.equal(await one(), 'well');
    assert.equal(await two(), 'well');
    assert.deepEqual(
      gears.map((gear) => gear.breaker('search').state),
      ['CLOSED', 'CLOSED'],
    );
    for (const gear of gears) gear.dispose();
  });

  test(`${name}: a synchronous tool stays synchronous`, async () => {
    const gear = gearOf(await make(newPlace()));
    const tool = gear.guard('add', (a: number, b: number) => a + b, { breaker });
    assert.equal(tool(1, 2), 3);
    gear.breaker('add').trip();
    await pause(20);
    assert.equal(refusalOf(tool(1, 2))?.code, 'circuit_open');
    await pause(230);
    const first = tool(1, 2);
    if (name === 'in a file') assert.equal(first, 3);
    else {
      assert.ok(isRefused(first)); // The request is out.
      assert.ok(refusalOf(first)?.retryAtMs);
      await pause(50);
      assert.equal(tool(1, 2), 3);
    }
    gear.dispose();
  });

  test(`${name}: a manual trip in one process holds the breaker open in the other`, async () => {
    const place = newPlace();
    const gears = [gearOf(await make(place)), gearOf(await make(place))] as const;
    const tools = gears.map((gear) => gear.guard('x', () => 1));
    assert.deepEqual(
      tools.map((tool) => tool()),
      [1, 1],
    );
    gears[0].breaker('x').hold();
    await until(() => refusalOf(tools[1]!())?.code === 'circuit_open');
    gears[1].breaker('x').release();
    await until(() => tools[0]!() === 1);
    for (const gear of gears) gear.dispose();
  });
}

testWithRedis('a store that is away is said once, and so is that it came back', async () => {
  const own = await startRedis();
  const gear = gearOf(await redisStore({ url: own.url, graceMs: 0, deadlineMs: 100 }));
  const said: string[] = [];
  gear.onEntry(({ type }) => said.push(type));
  const tool = gear.guard('x', async () => 1, { breaker });
  own.signal('SIGSTOP');
  for (let call = 0; call < 50; call++) assert.equal(await tool(), 1);
  const failing = gear.guard('y', async () => Promise.reject(new Error('down')), { breaker });
  for (let call = 0; call < 5; call++) await assert.rejects(failing() as Promise<unknown>);
  await pause(200);
  assert.equal(refusalOf(await failing())?.code, 'circuit_open'); // Its own failures open it here.
  own.signal('SIGCONT');
  for (let look = 0; look < 400 && !said.includes('store-recovered'); look++) await pause(10);
  assert.deepEqual(
    said.filter((type) => type.startsWith('store-')),
    ['store-degraded', 'store-recovered'],
  );
  gear.dispose();
  await own.stop();
});

testWithRedis(
  'a store that stays away: a process probes by itself after a while, and the store hears how it went',
  async () => {
    const own = await startRedis();
    const clock = simulatedClock();
    const store = await redisStore({ url: own.url, graceMs: 0, deadlineMs: 100, clock });
    const { shared } = store;
    const gear = gearOf(store);
    let ran = 0;
    const tool = gear.guard('x', () => ++ran, { breaker });
    assert.equal(tool(), 1);
    gear.breaker('x').trip();
    await shared.settled();
    own.signal('SIGSTOP');
    clock.advance(201);
    for (let look = 0; look < 400 && shared.health.state === 'shared'; look++) {
      assert.equal(refusalOf(tool())?.code, 'circuit_open'); // A store that stutters is waited for.
      await pause(10);
    }
    assert.equal(shared.health.state, 'degraded');
    for (let call = 0; call < 20; call++) {
      clock.advance(localProbeAfterMs / 30);
      assert.equal(refusalOf(tool())?.code, 'circuit_open');
      await pause(1);
    }
    clock.advance(localProbeAfterMs);
    assert.equal(refusalOf(tool())?.code, 'circuit_open'); // Its own probe is on the way.
    await pause(10);
    assert.equal(tool(), 2);
    assert.equal(gear.breaker('x').state, 'CLOSED');
    own.signal('SIGCONT');
    for (let look = 0; look < 400 && shared.health.state === 'degraded'; look++) await pause(10);
    // The first request lay there all the while and was granted: nobody holds it, and it does not stand in the way.
    for (let look = 0; look < 100 && refusalOf(tool()) !== undefined; look++) await pause(10);
    await shared.settled();
    const [stored] = await shared.read('breaker/', 1);
    assert.equal((stored?.state as BreakerState | undefined)?.phase, 'closed');
    assert.equal(gear.breaker('x').state, 'CLOSED');
    gear.dispose();
    await own.stop();
  },
);
