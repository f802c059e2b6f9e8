/** Built-in alerts: one card per cause and period, by one of several servers, over restarts. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cardApprover } from '../../../src/approvers/index.ts';
import type { Card } from '../../../src/core/card.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { type AlertSummary, readAlertRecords } from '../../../src/operator/alerts/read-alerts.ts';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';
import type { CrossProcessStore } from '../../../src/ports/store.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { openFileStore, serve, type TestServer } from '../server-setup.ts';
import { makeWebhook, quickAlerts, startReceiver, until } from './alerts-setup.ts';

const limited = { timeout: 20_000 };

/** Opens the breaker of a tool by failures, some times. */
async function tripTool(store: CrossProcessStore, tool: string, times = 1): Promise<void> {
  const breaker = times > 1 ? { recovery_timeout_secs: 0.001 } : {};
  const gear = createSwitchgear({ store, log: 'silent', env: {}, policy: { circuit_breaker: breaker } });
  const call = gear.guard(tool, async (_at: number) => {
    throw new Error('down');
  });
  // Each probe after the first trip fails, and trips again.
  for (let at = 0; at < 4 + times; at++) {
    await gear.task({ id: 't' }, () => call(at).catch(() => undefined));
    await sleep(times > 1 ? 20 : 0);
  }
  await store.shared.settled();
}

async function readAlertsOf(server: TestServer): Promise<AlertSummary> {
  return (await server.send('GET', '/api/alerts')).json;
}

async function alertCards(server: TestServer, rule: string): Promise<readonly Card[]> {
  const { json } = await server.send('GET', '/api/cards?state=all&limit=1000');
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
  assert.match(card!.evidence[0]!, /^search .*has been open for .*: it failed too often$/);
  assert.match(card!.evidence.at(-1)!, /^Runbook: https:.*docs\/runbooks\/breaker-open\.md$/);
  await server.send('POST', '/api/breakers/search/reset', { reason: 'mended' });
  const closed = await until(async () => {
    const { json } = await server.send('GET', `/api/cards/${card!.id}`);
    return json.card.state === 'expired' ? (json.card as Card) : undefined;
  });
  assert.match(closed.evidence.at(-1)!, /^Over since \d{4}-/);
  assert.deepEqual((await readAlertsOf(server)).firing, []);
});

test(
  'C37: trips and C38: failures above their values are cards, once in a period and over restarts',
  limited,
  async () => {
    const store = openFileStore();
    await tripTool(store, 'search', 3);
    const alerts = quickAlerts({ tripsPerHour: 2, failureRate: 0.1, timeInOpenSecs: 1e6 });
    const first = await serve(store, { alerts });
    await until(async () => (await readAlertsOf(first)).firing.find(({ rule }) => rule === 'BreakerTrips'));
    const [card] = await alertCards(first, 'BreakerTrips');
    assert.match(card!.evidence[0]!, /tripped 3 times in the last hour, more than 2/);
    await first.send('POST', `/api/cards/${card!.id}/answer`, { answer: 'dismiss' });
    await first.close();
    const second = await serve(store, { alerts });
    await until(async () => (await readAlertsOf(second)).isEvaluated || undefined);
    await tripTool(store, 'other', 3);
    await until(async () => (await alertCards(second, 'BreakerTrips')).length === 2 || undefined);
    const cards = await alertCards(second, 'BreakerTrips');
    assert.equal(cards.filter(({ evidence }) => evidence[0]!.startsWith('search')).length, 1);
    await second.close();
  },
);

test('of several servers one evaluates, and another takes over when it ends', limited, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-alerts-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'state.db');
  const store = sqliteStore({ path });
  const [one, two, three] = [store, sqliteStore({ path }), sqliteStore({ path })];
  await tripTool(store, 'search');
  const { received, url } = await startReceiver();
  const alerts = quickAlerts({ timeInOpenSecs: 0.01 }, [makeWebhook(url)]);
  const servers = [await serve(one, { alerts }), await serve(two, { alerts }), await serve(three, { alerts })];
  const by = await until(async () => (await readAlertsOf(servers[0]!)).evaluatedBy);
  await until(() => received[0]);
  const holder = servers[[one, two, three].findIndex(({ shared }) => shared.process === by)]!;
  await holder.close();
  const rest = servers.filter((server) => server !== holder);
  const next = await until(async () => {
    const { evaluatedBy } = await readAlertsOf(rest[0]!);
    return evaluatedBy === by ? undefined : evaluatedBy;
  });
  assert.notEqual(next, by);
  assert.equal((await alertCards(rest[0]!, 'BreakerOpen')).length, 1);
  assert.equal(received.length, 1);
  for (const server of rest) await server.close();
});

test('an alert that is off does not fire', limited, async () => {
  const store = openFileStore();
  await tripTool(store, 'search');
  const off = checkPolicy({ alerts: { time_in_open_secs: 'none', failure_rate: 'none' } }).settings.alerts;
  const server = await serve(store, { alerts: quickAlerts(off) });
  const { rules } = await until(async () => {
    const read = await readAlertsOf(server);
    return read.isEvaluated ? read : undefined;
  });
  assert.equal(rules.find(({ name }) => name === 'BreakerOpen')?.condition, 'off');
  await tripTool(store, 'trigger');
  assert.deepEqual((await readAlertsOf(server)).firing, []);
  await server.close();
});

test('a task and a budget near their limits are cards, first at 80 % and then at 95 %', limited, async () => {
  const store = openFileStore();
  const policy = { budgets: [{ scope: 'global', unit: 'calls', limit: 20 }] } as const;
  const gear = createSwitchgear({ store, log: 'silent', env: {}, policy });
  const call = gear.guard('x', async (_at: number) => 'ok');
  const server = await serve(store, { alerts: quickAlerts() });
  await gear.run('t', async () => {
    for (let at = 0; at < 17; at++) await call(at);
    await store.shared.settled();
    const [early] = await until(async () => {
      const found = await alertCards(server, 'BudgetBurn80');
      return found.length > 0 ? found : undefined;
    });
    assert.match(early!.evidence[0]!, /the budget of the global: \d+ of 20 calls used/);
    for (let at = 17; at < 20; at++) await call(at);
    await store.shared.settled();
  });
  await until(async () => (await alertCards(server, 'BudgetBurn95')).length === 1 || undefined);
  const { firing } = await until(async () => {
    const read = await readAlertsOf(server);
    return read.over.length > 0 ? read : undefined;
  });
  assert.deepEqual(
    firing.map(({ rule }) => rule),
    ['BudgetBurn95'],
  );
  await server.close();
  gear.dispose();
});

test('a budget whose process has opened a card for a notice has no second card', limited, async () => {
  const store = openFileStore();
  const policy = { budgets: [{ scope: 'global', unit: 'tokens', limit: 100 }] } as const;
  const gear = createSwitchgear({ store, log: 'silent', env: {}, policy });
  const server = await serve(store, { alerts: quickAlerts() });
  await gear.task({ id: 't' }, async (task) => {
    for (const [tokens, rule] of [
      [85, 'BudgetBurn80'],
      [12, 'BudgetBurn95'],
    ] as const) {
      task.observe({ type: 'usage', model: 'gpt-4o', inputTokens: tokens, outputTokens: 0 });
      await store.shared.settled();
      const firing = await until(async () => (await readAlertsOf(server)).firing.find((each) => each.rule === rule));
      const { json } = await server.send('GET', `/api/cards/${firing.card}`);
      assert.match(json.card.evidence[0], /^tokens of all agents: \d\d of 100/);
      assert.deepEqual(await alertCards(server, rule), []);
    }
  });
  await server.close();
  gear.dispose();
});

test('an agent that waits for a person is a card, which closes with the answer', limited, async () => {
  const store = openFileStore();
  const rules = [{ condition: 'ability:pay', action: 'confirm' }] as const;
  const gear = createSwitchgear({
    store,
    log: 'silent',
    env: {},
    policy: { rules },
    approver: cardApprover({ store }),
  });
  const pay = gear.guard('pay', async () => 'paid');
  const server = await serve(store, { alerts: quickAlerts({ waitingSecs: 0.05 }) });
  const running = gear.run('t', () => pay());
  const [alert] = await until(async () => {
    const found = await alertCards(server, 'InboxStale');
    return found.length > 0 ? found : undefined;
  });
  assert.match(alert!.evidence[0]!, /^1 agent waiting for an answer/);
  const question = (await server.send('GET', '/api/cards?kind=ask')).json.cards[0] as Card;
  await server.send('POST', `/api/cards/${question.id}/answer`, { answer: 'approve' });
  await running;
  await until(async () => (await readAlertsOf(server)).firing.length === 0 || undefined);
  await server.close();
  gear.dispose();
});

test('an alert ends although the store has more causes than one read returns', limited, async () => {
  const store = openFileStore();
  const atMs = store.clock.nowMs();
  const record = { rule: 'InboxStale', subject: 'x', value: 1, limit: 1, card: 'gone', sinceWallMs: 1, firedMs: atMs };
  for (let from = 0; from < 5_000; from += 500) {
    const changes = Array.from({ length: 500 }, (_, at) => {
      const hash = createHash('sha256')
        .update(String(from + at))
        .digest('hex')
        .slice(0, 16);
      const cell = store.cell<object | null>(`alerts/InboxStale/${hash}`, () => null);
      const isOver = from + at > 0;
      return {
        cell,
        update: () => ({ state: { ...record, seenMs: atMs, ...(isOver && { overWallMs: 1 }) } }),
      } as never;
    });
    assert.equal((await store.shared.commit({ changes })).status, 'committed');
  }
  const records = await readAlertRecords(store);
  assert.deepEqual([records.size, [...records.values()].filter(({ overWallMs }) => !overWallMs).length], [5_000, 1]);
  const server = await serve(store, { alerts: quickAlerts() });
  await until(async () => (await readAlertsOf(server)).isEvaluated || undefined);
  await until(async () => (await readAlertsOf(server)).firing.length === 0 || undefined);
  await server.close();
  store.close();
});

test(
  'thresholds that change while the server runs hold from the next evaluation on, and are shown',
  limited,
  async () => {
    const store = openFileStore();
    await tripTool(store, 'search');
    const alerts = quickAlerts({ timeInOpenSecs: 1e6 });
    let settings = alerts.settings;
    const server = await serve(store, { alerts: { ...alerts, readSettings: async () => settings } });
    await until(async () => (await readAlertsOf(server)).isEvaluated || undefined);
    assert.deepEqual(await alertCards(server, 'BreakerOpen'), []);
    settings = { ...settings, timeInOpenSecs: 0.01 };
    await until(async () => (await alertCards(server, 'BreakerOpen')).length === 1 || undefined);
    await until(
      async () => (await readAlertsOf(server)).rules.some(({ threshold }) => threshold === 0.01) || undefined,
    );
    await server.close();
  },
);
