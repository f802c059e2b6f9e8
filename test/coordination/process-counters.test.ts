/** Counters of processes: one total for all of them, which only grows, counts nothing twice and stays bounded. */

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSwitchgear } from '../../src/index.ts';
import { readStoredCounts } from '../../src/operator/counters.ts';
import { metricNamesMax } from '../../src/ports/process-counts.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { faultyLine } from '../experiments/faulty-connection.ts';
import { testWithRedis } from '../redis-server.ts';
import { storePlace, testOn, until } from '../stores/both-stores.ts';
import type { CountingPlace } from './counting-child.ts';

const { folder, server } = storePlace();
let places = 0;
const newPlace = () => `place${++places}`;
const kinds: Readonly<Record<string, (place: string) => CountingPlace>> = {
  'in a file': (place) => ({ path: join(folder, `${place}.db`) }),
  'in Redis': (prefix) => ({ url: server().url, prefix, graceMs: 0, deadlineMs: 1_000 }),
};

const counting = { log: 'silent', env: {} } as const;

async function readBreaker(store: SqliteStore, name: string) {
  return (await readStoredCounts(store))!.breaker.get(name);
}

for (const [kind, locate] of Object.entries(kinds)) {
  const open = async (place: string): Promise<SqliteStore> => {
    const where = locate(place);
    return 'path' in where ? sqliteStore(where) : redisStore(where);
  };

  testOn(kind)(`${kind}: totals are the sum over processes that live, have ended or start again`, async () => {
    const place = newPlace();
    const reader = await open(place);
    const totals: number[] = [];
    for (let start = 1; start <= 3; start++) {
      const [first, second] = [await open(place), await open(place)];
      for (const store of [first, second]) {
        const gear = createSwitchgear({ store, policy: { circuit_breaker: { failure_threshold: 50 } }, ...counting });
        const search = gear.guard('search', async (at: number) => {
          if (at % 2 === 1) throw new Error('down');
        });
        for (let at = 0; at < 4; at++) await Promise.resolve(search(at)).catch(() => undefined);
        gear.dispose(); // Closes the store.
      }
      await until(async () => (await readBreaker(reader, 'search'))?.failures === start * 4);
      const counts = await readStoredCounts(reader);
      assert.equal(counts!.breaker.get('search')!.successes, start * 4);
      assert.equal(counts!.decision.get('library')!.allow, start * 8);
      totals.push(counts!.breaker.get('search')!.successMs);
    }
    assert.deepEqual(
      totals,
      totals.toSorted((a, b) => a - b),
    );
    reader.close();
  });

  testOn(kind)(`${kind}: trips, refusals, halts, spending, errors and answers are counted`, async () => {
    const store = await open(newPlace());
    const budgets = [{ scope: 'project', unit: 'spend_cents', limit: 10_000 }] as const;
    const circuit_breaker = { failure_threshold: 2 };
    const gear = createSwitchgear({ store, policy: { circuit_breaker, budgets }, ...counting });
    const down = gear.guard('down', () => Promise.reject(new Error('503')));
    for (let at = 0; at < 5; at++) await Promise.resolve(down()).catch(() => undefined);
    const task = gear.startTask({ id: 't', limits: { maxToolCalls: 2 } });
    task.observe({ type: 'usage', model: 'm', inputTokens: 10, outputTokens: 5, costUsd: 0.25 });
    for (let at = 0; at < 4; at++) await task.run(async () => gear.run('ok', async () => at));
    const [card] = gear.cards.list();
    gear.cards.answer(card!.id, 'dismiss', 'ann');
    gear.cards.answer(card!.id, 'dismiss', 'bob');
    store.putCard({ ...card!, id: 'card-notice', kind: 'notice' });
    gear.cards.answer('card-notice', 'dismiss', 'switchgear run'); // Not an answer of a person.
    assert.equal(store.card('card-notice')?.state, 'answered');
    await store.shared.settled();
    await store.shared.counters!.flush();
    const counts = (await readStoredCounts(store))!;
    const { opened, failures, refusals } = counts.breaker.get('down')!;
    assert.deepEqual({ opened, failures, refusals }, { opened: 1, failures: 2, refusals: 3 });
    assert.equal(counts.code.get('circuit_open')!.refusals, 3);
    assert.equal(
      [...counts.code.values()].reduce((sum, { halts }) => sum + halts, 0),
      1,
    );
    const { allow, deny, halt } = counts.decision.get('library')!;
    assert.deepEqual({ allow, deny, halt }, { allow: 4, deny: 3, halt: 2 });
    assert.deepEqual(counts.spend.get('task'), { micros: 250_000, tokens: 15 });
    assert.deepEqual(counts.spend.get('project'), { micros: 250_000, tokens: 15 });
    assert.deepEqual(counts.spend.get('session'), { micros: 0, tokens: 0 });
    assert.equal(counts.answer.get('all')!.dismiss, 1);
    await store.shared.counters!.flush();
    assert.deepEqual(await readStoredCounts(store), counts);
    gear.dispose();
  });

  testOn(kind)(`${kind}: names beyond the bound share one total, whichever process met them`, async () => {
    const place = newPlace();
    const stores = [await open(place), await open(place)];
    const call = async (store: SqliteStore, names: readonly string[]) => {
      for (const name of names) store.shared.counters!.breaker(name).successes++;
      await store.shared.counters!.flush();
    };
    const names = Array.from({ length: metricNamesMax + 50 }, (_, at) => `tool-${at}`);
    await call(stores[0]!, names.slice(0, 150));
    await call(stores[1]!, names.slice(100));
    await call(stores[0]!, names.slice(150));
    const { breaker } = (await readStoredCounts(stores[0]!))!;
    assert.equal(breaker.size, metricNamesMax + 1);
    assert.equal(
      [...breaker.values()].reduce((sum, { successes }) => sum + successes, 0),
      150 + 150 + 100,
    );
    assert.equal(breaker.get('tool-120')!.successes, 2);
    assert.equal(breaker.get('other')!.successes, 100);
    for (const store of stores) store.close();
  });

  testOn(kind)(`${kind}: a flush of a process that goes on counting ends`, async () => {
    const store = await open(newPlace());
    const counts = store.shared.counters!.breaker('busy');
    let isFlushed = false;
    let turns = 0;
    const count = () => {
      counts.successes++;
      if (!isFlushed && ++turns < 2_000) setImmediate(count);
    };
    count();
    await store.shared.counters!.flush();
    isFlushed = true;
    assert.ok(turns < 2_000);
    store.close();
  });

  testOn(kind)(`${kind}: a killed process leaves what it wrote last, and no more than it did`, async () => {
    const place = newPlace();
    const reader = await open(place);
    const child = fork(fileURLToPath(new URL('./counting-child.ts', import.meta.url)), { stdio: 'ignore' });
    let begun = 0;
    child.on('message', (calls: number) => {
      begun = calls;
    });
    await once(child, 'message'); // It is ready.
    child.send(locate(place));
    await until(async () => ((await readBreaker(reader, 'search'))?.successes ?? 0) > 0);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const { breaker, decision } = (await readStoredCounts(reader))!;
    const { successes } = breaker.get('search')!;
    assert.ok(successes > 0 && successes <= begun, `${successes} of ${begun}`);
    assert.equal(decision.get('library')!.allow, successes);
    reader.close();
  });
}

test('a process that ends without closing its store leaves its last counts', async () => {
  const path = join(folder, 'ended.db');
  const child = fork(fileURLToPath(new URL('./counting-child.ts', import.meta.url)), { stdio: 'ignore' });
  await once(child, 'message');
  child.send({ path, calls: 7 });
  await once(child, 'exit');
  const reader = sqliteStore({ path });
  assert.equal((await readBreaker(reader, 'search'))!.successes, 7);
  reader.close();
});

testWithRedis('in Redis: replies that are lost or garbled make no count twice and lose none', async (context) => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  const line = await faultyLine(server().port, random);
  context.after(() => line.close());
  const prefix = newPlace();
  const store = await redisStore({ url: `redis://127.0.0.1:${line.port}`, prefix, graceMs: 0, deadlineMs: 50 });
  const reader = await redisStore({ url: server().url, prefix, graceMs: 0, deadlineMs: 1_000 });
  context.after(() => {
    for (const each of [store, reader]) each.close();
  });
  const counts = store.shared.counters!.breaker('search');
  let seen = 0;
  for (let round = 0; round < 20; round++) {
    line.fault = round % 2 === 0 ? 'none' : 'garbage';
    counts.successes += 3;
    await store.shared.counters!.flush();
    const { successes = 0 } = (await readBreaker(reader, 'search')) ?? {};
    assert.ok(successes >= seen && successes <= counts.successes, `${seen} ${successes} ${counts.successes}`);
    seen = successes;
  }
  line.fault = 'none';
  await until(async () => {
    await store.shared.counters!.flush();
    return (await readBreaker(reader, 'search'))?.successes === 60;
  });
  await store.shared.settled();
  assert.equal((await readBreaker(reader, 'search'))!.successes, 60);
});

testWithRedis('in Redis: what is counted while the store is away is added once when it is back', async (context) => {
  const line = await faultyLine(server().port, () => 0);
  context.after(() => line.close());
  const prefix = newPlace();
  const store = await redisStore({ url: `redis://127.0.0.1:${line.port}`, prefix, graceMs: 0, deadlineMs: 50 });
  const gear = createSwitchgear({ store, ...counting });
  context.after(() => gear.dispose());
  line.fault = 'black hole';
  await until(async () => {
    await store.shared.commit({ adds: [{ key: 'x', amount: 1 }] });
    return store.shared.health.state === 'degraded';
  });
  const search = gear.guard('search', async () => 1);
  for (let at = 0; at < 5; at++) await search();
  await store.shared.counters!.flush();
  line.fault = 'none';
  await until(
    async () => (await readStoredCounts(store).catch(() => undefined))?.breaker.get('search')?.successes === 5,
  );
  const { allow, degraded } = (await readStoredCounts(store))!.decision.get('library')!;
  assert.deepEqual({ allow, degraded }, { allow: 5, degraded: 5 });
});
