/** A read of the journal that failed is told apart from an empty one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLastSeq } from '../../src/operator/journal.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { startRedis, testWithRedis } from '../redis-server.ts';
import { bothStores } from './both-stores.ts';

const { kinds, newPlace } = bothStores();
const order = { type: 'internal-error', where: 'test', message: 'x', code: 'internal_error' } as const;

test('in a file: the journal of a file that cannot be read rejects', async () => {
  const store = await kinds['in a file'](newPlace());
  assert.deepEqual(await store.shared.entries(1, 10), []);
  store.append(order, {}, store.clock.nowMs());
  assert.equal(await findLastSeq(store.shared), 1);
  store.close();
  await assert.rejects(store.shared.entries(1, 10), { code: 'store_unreachable' });
  await assert.rejects(findLastSeq(store.shared), { code: 'store_unreachable' });
});

testWithRedis('in Redis: the journal of a server that does not answer rejects', async () => {
  const server = await startRedis();
  const store = await redisStore({ url: server.url, graceMs: 0, deadlineMs: 100 });
  try {
    assert.deepEqual(await store.shared.entries(1, 10), []);
    store.append(order, {}, store.clock.nowMs());
    await store.shared.settled();
    assert.equal(await findLastSeq(store.shared), 1);
    server.signal('SIGSTOP');
    await assert.rejects(store.shared.entries(1, 10), { code: 'store_unreachable' });
    server.signal('SIGCONT');
  } finally {
    store.close();
    await server.stop();
  }
});
