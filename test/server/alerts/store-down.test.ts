/** A store that is away is told directly, once, and is a card when it is back. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Card } from '../../../src/core/card.ts';
import type { CrossProcessStore, StoreHealth } from '../../../src/ports/store.ts';
import { openFileStore, serve } from '../server-setup.ts';
import { makeWebhook, quickAlerts, startReceiver, until } from './alerts-setup.ts';

test('a store that is away is told directly, and is a closed card when it is back', { timeout: 30_000 }, async () => {
  const file = openFileStore();
  let health: StoreHealth = { state: 'shared', reason: 'the store answers' };
  // The file stays; only its health is another one.
  const shared = Object.create(file.shared, { health: { get: () => health } });
  const store: CrossProcessStore = Object.create(file, { shared: { value: shared } });
  const { received, url } = await startReceiver((count) => (count === 1 ? 500 : 200));
  const server = await serve(store, { alerts: quickAlerts({ storeAwaySecs: 0.05 }, [makeWebhook(url)]) });
  await until(async () => (await server.send('GET', '/api/alerts')).json.isEvaluated || undefined);
  health = { state: 'degraded', reason: 'connect ECONNREFUSED' };
  await until(() => received[1]);
  assert.deepEqual([received[1]!.json.type, received[1]!.json.lines], ['alert', ['connect ECONNREFUSED']]);
  assert.match(received[1]!.json.headline, /^Alert: the store test is away for /);
  assert.equal(received[0]!.json.id, received[1]!.json.id);
  health = { state: 'shared', reason: 'the store answers' };
  await until(() => received[2]);
  assert.equal(received[2]!.json.type, 'over');
  const card = await until(async () => {
    const { cards } = (await server.send('GET', '/api/cards?state=all')).json;
    return (cards as Card[]).find(({ counters, state }) => counters.alert === 'StoreDown' && state === 'expired');
  });
  assert.match(card.evidence[0]!, /^the store was away for /);
  assert.equal(received.length, 3);
  await server.close();
});
