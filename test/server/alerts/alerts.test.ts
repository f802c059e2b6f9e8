/** Built-in alerts: one card per cause and period, by one of several servers, over restarts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Card } from '../../../src/core/card.ts';
import { createSwitchgear } from '../../../src/index.ts';
import type { AlertSummary } from '../../../src/operator/alerts/read-alerts.ts';
import type { CrossProcessStore } from '../../../src/ports/store.ts';
import { openFileStore, serve, type TestServer } from '../server-setup.ts';
import { quickAlerts, until } from './alerts-setup.ts';

const limited = { timeout: 60_000 };

/** Opens the breaker of a tool by failures, some times. */
async function tripTool(store: CrossProcessStore, tool: string, times = 1): Promise<void> {
  const gear = createSwitchgear({ store, log: 'silent' });
  const call = gear.guard(tool, async () => {
    throw new Error('down');
  });
  for (let trip = 0; trip < times; trip++) {
    if (trip > 0) gear.breaker(tool).reset();
    await gear.run('t', async () => {
      for (let at = 0; at < 5; at++) await call().catch(() => undefined);
    });
  }
  await store.shared.settled();
}

async function readAlertsOf(server: TestServer): Promise<AlertSummary> {
  return (await server.send('GET', '/api/alerts')).json;
}

async function alertCards(server: TestServer, rule: string): Promise<readonly Card[]> {
  const { json } = await server.send('GET', '/api/cards?limit=1000');
  return (json.cards as Card[]).filter(({ counters }) => counters.alert === rule);
}

test('C39: a breaker that is open too long is a card, which closes by itself when it closes', limited, async () => {
  const store = openFileStore();
  await tripTool(store, 'search');
  const server = await serve(store, { alerts: quickAlerts({ timeInOpenSecs: 0.05 }) });
  const firing = await until(async () => (await readAlertsOf(server)).firing[0]);
  assert.match(firing.subject, /^search\b/);
  const [card] = await alertCards(server, 'BreakerOpen');
  assert.equal(card!.id, firing.card);
  assert.equal(card!.kind, 'notice');
  assert.deepEqual(card!.actions, ['dismiss']);
  assert.match(card!.evidence[0]!, /^search .*is open for /);
  assert.match(card!.evidence.at(-1)!, /^Runbook: https:.*docs\/runbooks\/breaker-open\.md$/);
  await server.send('POST', '/api/breakers/search/reset', { reason: 'mended' });
  const closed = await until(async () => {
    const { json } = await server.send('GET', `/api/cards/${card!.id}`);
    return json.card.state === 'expired' ? (json.card as Card) : undefined;
  });
  assert.match(closed.evidence.at(-1)!, /^Over since \d{4}-/);
  assert.deepEqual((await readAlertsOf(server)).firing, []);
});
