import assert from 'node:assert/strict';
import test from 'node:test';
import { createSwitchgear } from '../../../src/index.ts';
import { findBreakerEntries, withActivity } from '../../../src/operator/board/breaker-activity.ts';
import { createRecentEntries } from '../../../src/operator/board/recent-entries.ts';
import { holdBreakers } from '../../../src/operator/breaker-holds.ts';
import { readStoredBreakers } from '../../../src/operator/breakers.ts';
import { redisStore } from '../../../src/stores/redis/index.ts';
import type { SqliteStore } from '../../../src/stores/sqlite/index.ts';
import { startRedis, testWithRedis } from '../../redis-server.ts';
import { openFileStore } from '../../server/server-setup.ts';
import { until } from '../../stores/both-stores.ts';

const ann = { by: 'ann', from: { user: 'ann', processes: [] } } as never as { readonly by: string };

/** Lets a tool fail until its breaker refuses it twice. */
async function failTool(store: SqliteStore): Promise<void> {
  const gear = createSwitchgear({ store, agent: 'a', project: 'shop', log: 'silent', env: {} });
  const search = gear.guard('search', async (at: number) => {
    throw new TypeError(`offline ${at}`);
  });
  await gear.task({ id: 'x' }, async () => {
    for (let at = 0; at < 7; at++) {
      await search(at).catch(() => undefined);
      await undefined;
    }
  });
  // On a busy machine Redis may be late: what waits then is written a little later.
  await until(async () => (await readStoredBreakers(store)).some(({ state }) => state === 'OPEN'));
}

async function checkActivity(store: SqliteStore): Promise<void> {
  await failTool(store);
  const readEntries = createRecentEntries(store);
  const read = async () => withActivity(await readStoredBreakers(store), await readEntries(), store.clock.nowMs());
  const [open] = await read();
  assert.equal(open?.state, 'OPEN');
  assert.deepEqual([open?.series?.failures.at(-1), open?.series?.refusals.at(-1)], [5, 2]);
  assert.deepEqual([open?.series?.failures.length, open?.series?.stepMs], [30, 20_000]);
  assert.deepEqual(
    [open?.lastFailure?.error, open?.lastFailure?.task, open?.lastFailure?.agent],
    ['TypeError', 'x', 'a'],
  );
  assert.deepEqual([open?.why, open?.probes], ['it failed 5 times', { inFlight: 0, succeeded: 0 }]);
  assert.ok((open?.sinceMs ?? 0) > 0 && (open?.trippedWallMs ?? 0) > 0);

  await holdBreakers(store, { target: 'search', reason: 'vendor is down', ...ann });
  const [held] = await read();
  const { order, by, reason } = held?.lastOrder ?? {};
  assert.deepEqual(
    [held?.held, held?.why, order, by, reason],
    [true, 'held open by hand', 'hold', 'ann', 'vendor is down'],
  );

  const rows = findBreakerEntries(await readEntries(), 'search');
  // Entries of one moment may have their numbers in either order.
  assert.deepEqual(rows.map(({ type }) => type).toSorted(), [
    ...['action-refused', 'action-refused', 'breaker-held', 'breaker-opened'],
    ...['failure-counted', 'failure-counted', 'failure-counted', 'failure-counted', 'failure-counted', 'order-given'],
  ]);
  assert.deepEqual(findBreakerEntries(await readEntries(), 'other'), []);
}

test('in a file: a breaker shows its failures, refusals, last error and last order', async () => {
  const store = openFileStore();
  await checkActivity(store);
  store.close();
});

testWithRedis('on Redis: a breaker shows its failures, refusals, last error and last order', async (context) => {
  const { url, stop } = await startRedis();
  const store = await redisStore({ url });
  context.after(async () => {
    store.close();
    await stop();
  });
  await checkActivity(store as SqliteStore);
});

test('a series forgets what is older than its 30 steps', async () => {
  const store = openFileStore();
  await failTool(store);
  const entries = await createRecentEntries(store)();
  const breakers = await readStoredBreakers(store);
  const at = (laterMs: number) => withActivity(breakers, entries, store.clock.nowMs() + laterMs)[0];
  assert.deepEqual(
    at(100_000)
      ?.series?.failures.slice(23, 26)
      .reduce((sum, each) => sum + each),
    5,
  );
  assert.equal(at(700_000)?.series, undefined);
  assert.equal(at(700_000)?.lastFailure?.error, 'TypeError');
  store.close();
});
