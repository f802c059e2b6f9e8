/** Webhooks on both stores: a server that is killed, a lease that comes back, a receiver that hangs, a flap. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Card } from '../../../src/core/card.ts';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import type { AlertCause } from '../../../src/operator/alerts/find-causes.ts';
import { readAlertLease, readWebhookProgress } from '../../../src/operator/alerts/read-alerts.ts';
import { releaseLease, takeLease, updateAlerts } from '../../../src/operator/alerts/update-alerts.ts';
import { readCards } from '../../../src/operator/cards.ts';
import type { CrossProcessStore } from '../../../src/ports/store.ts';
import { createDeliverer } from '../../../src/server/alerts/deliver.ts';
import { redisStore } from '../../../src/stores/redis/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { storePlace, testOn } from '../../stores/both-stores.ts';
import { serve } from '../server-setup.ts';
import { makeWebhook, quickAlerts, type Received, startReceiver, until } from './alerts-setup.ts';

const limited = { timeout: 30_000 };
const { folder, server: redis } = storePlace();
const events = ['alerts', 'halts'] as const;
const lease = { rules: [], webhooks: [], startedWallMs: 0 };
const leaseMs = 1_000;

const kinds: Readonly<
  Record<string, (name: string) => { readonly place: string; open(): Promise<CrossProcessStore> }>
> = {
  'in a file': (name) => {
    const place = join(folder, `${name}.db`);
    return { place, open: async () => sqliteStore({ path: place }) };
  },
  'in Redis': (prefix) => {
    const { url } = redis();
    return { place: url, open: () => redisStore({ url, prefix, graceMs: 0, deadlineMs: 1_000 }) };
  },
};

async function openCards(store: CrossProcessStore, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const card: Card = {
      ...{ id, kind: 'halt', task: 't', code: 'tool_call_limit', counters: {}, evidence: [`${id} stopped`] },
      ...{ actions: ['dismiss'], state: 'open' },
    };
    store.putCard(card);
    store.append({ type: 'card-changed', card }, { task: 't' }, store.clock.nowMs());
  }
  await store.shared.settled();
}

const showAll = (received: readonly Received[]) => received.map(({ json }) => json.card?.id ?? json.headline);
const isPlaced = async (store: CrossProcessStore) => (await readWebhookProgress(store)).size > 0 || undefined;

for (const [name, find] of Object.entries(kinds)) {
  const test = testOn(name);

  test(
    `${name}: another server takes over from one that was killed, and repeats only its message`,
    limited,
    async () => {
      const { place, open } = find('killed');
      const store = await open();
      const { received, url } = await startReceiver((count) => (count === 2 ? 'hang' : 200));
      const args = [join(import.meta.dirname, 'server-child.ts'), place, 'killed', url.href, String(leaseMs)];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      after(() => child.kill('SIGKILL'));
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      await until(() => isPlaced(store));
      assert.equal((await readAlertLease(store))?.holder, line.toString().trim());
      const alerts = { ...quickAlerts({}, [makeWebhook(url, { events })]), leaseMs };
      const next = await serve(store, { alerts });
      await openCards(store, 'card-0', 'card-1');
      await until(() => received[1]);
      child.kill('SIGKILL');
      await once(child, 'exit');
      await openCards(store, ...Array.from({ length: 25 }, (_, at) => `card-more-${at}`));
      await until(() => received[3]);
      assert.equal((await readAlertLease(store))?.holder, store.shared.process);
      assert.deepEqual(showAll(received), ['card-0', 'card-1', 'card-1', '25 cards at once: 25 × halt']);
      assert.equal(received[1]!.headers['webhook-id'], received[2]!.headers['webhook-id']);
      await next.close();
      store.close();
    },
  );

  test(`${name}: a server whose lease was another's meanwhile goes on at the other's place`, limited, async () => {
    const { open } = find('returned');
    const [one, two] = [await open(), await open()];
    const { received, url } = await startReceiver();
    const [first, second] = [one, two].map((store) => createDeliverer(store, makeWebhook(url, { events }), () => ''));
    await takeLease(one, lease);
    await first!.prepare();
    await openCards(one, 'card-1');
    await first!.deliver();
    await releaseLease(one);
    await takeLease(two, lease);
    await openCards(one, 'card-2');
    await second!.deliver();
    await releaseLease(two);
    await takeLease(one, lease);
    await openCards(one, 'card-3');
    await until(async () => {
      await first!.deliver();
      return received.at(-1)!.json.card.id === 'card-3';
    });
    assert.deepEqual(showAll(received), ['card-1', 'card-2', 'card-3']);
    for (const store of [one, two]) store.close();
  });

  test(`${name}: a receiver that hangs delays no other webhook, no request and no end`, limited, async () => {
    const store = await find('hangs').open();
    const [hanging, working] = [await startReceiver(() => 'hang'), await startReceiver()];
    const webhooks = [makeWebhook(hanging.url, { name: 'hanging', events }), makeWebhook(working.url, { events })];
    const server = await serve(store, { alerts: quickAlerts({}, webhooks) });
    await until(async () => (await readWebhookProgress(store)).size === 2 || undefined);
    await openCards(store, 'card-1');
    await until(() => hanging.received[0] && working.received[0]);
    await openCards(store, 'card-2');
    await until(() => working.received[1]);
    assert.equal((await server.send('GET', '/api/alerts')).status, 200);
    await server.close();
    assert.deepEqual([showAll(hanging.received), showAll(working.received)], [['card-1'], ['card-1', 'card-2']]);
    store.close();
  });

  test(
    `${name}: an alert that flaps is told once, also if it came back meanwhile, and so is its end`,
    limited,
    async () => {
      const store = await find('flaps').open();
      const { received, url } = await startReceiver();
      const deliverer = createDeliverer(store, makeWebhook(url, { events }), () => '');
      await takeLease(store, lease);
      await deliverer.prepare();
      const cause: AlertCause = {
        ...{ rule: 'BreakerOpen', key: 'search', subject: 'search', value: 400, limit: 300, repeats: true },
        evidence: ['search is open'],
      };
      const update = (...causes: readonly AlertCause[]) => updateAlerts(store, causes, defaultSettings.alerts);
      const readStates = async () => (await readCards(store)).map(({ state }) => state);
      const types = async () => {
        await deliverer.deliver();
        return received.map(({ json }) => json.type);
      };
      await update(cause);
      await update();
      assert.deepEqual([await types(), await readStates()], [[], ['expired']]);
      await update(cause);
      assert.deepEqual([await types(), await readStates()], [['alert'], ['open']]);
      await update();
      await update(cause);
      assert.deepEqual([await types(), await readStates()], [['alert'], ['open']]);
      await update();
      assert.deepEqual([await types(), await readStates()], [['alert', 'over'], ['expired']]);
      await update(cause);
      await update();
      assert.deepEqual([await types(), await readStates()], [['alert', 'over'], ['expired']]);
      store.close();
    },
  );

  test(`${name}: the attempts for a card that was answered are not those of the next one`, limited, async () => {
    const store = await find('attempts').open();
    const { url } = await startReceiver(() => 500);
    const deliverer = createDeliverer(store, makeWebhook(url, { events }), () => '');
    await takeLease(store, lease);
    await deliverer.prepare();
    await openCards(store, 'card-1');
    await deliverer.deliver();
    store.putCard({ ...store.card('card-1')!, state: 'answered', answer: 'dismiss', by: 'ann' });
    await openCards(store, 'card-2');
    const [row] = await until(async () => {
      await deliverer.deliver();
      const { deliveries } = (await readWebhookProgress(store)).get('ops')!;
      return deliveries[0]!.card === 'card-2' ? deliveries : undefined;
    });
    assert.equal(row!.attempts, 1);
    store.close();
  });
}
