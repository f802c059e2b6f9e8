/** A server reads the cards when it starts, and the first requests wait for that read instead of another one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SharedStore } from '../../src/ports/store.ts';
import { openFileStore, serve } from './server-setup.ts';

test('the cards are read before the first request, which waits for the same read', { timeout: 30_000 }, async () => {
  const store = openFileStore();
  store.putCard({
    ...{ id: 'n', kind: 'notice', task: 't', code: 'notice', counters: {}, evidence: [], actions: ['dismiss'] },
    state: 'open',
  });
  const reads = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let count = 0;
  const read: SharedStore['read'] = async (prefix, most) => {
    if (prefix === 'card/') {
      count++;
      reads.resolve();
      await released.promise;
    }
    return store.shared.read(prefix, most);
  };
  const shared = Object.create(store.shared, { read: { value: read } });
  const server = await serve(Object.create(store, { shared: { value: shared } }));
  await reads.promise;
  const answers = [server.send('GET', '/api/cards'), server.send('GET', '/api/cards?state=all')];
  assert.equal((await server.send('GET', '/api/session')).status, 200, 'other requests do not wait');
  assert.equal(count, 1);
  released.resolve();
  for (const { json } of await Promise.all(answers)) assert.equal(json.total, 1);
  await server.close();
  store.close();
});
