/** Webhooks: signed, retried, once over restarts, bounded, and never in the way. */

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Card } from '../../../src/core/card.ts';
import type { CrossProcessStore } from '../../../src/ports/store.ts';
import { resolveWebhooks } from '../../../src/server/alerts/resolve-webhooks.ts';
import { openFileStore, serve } from '../server-setup.ts';
import { makeWebhook, quickAlerts, startReceiver, until } from './alerts-setup.ts';

const limited = { timeout: 60_000 };
const all = ['alerts', 'halts', 'questions'] as const;

/** Opens a card as a gear does: stored, with its entry. */
async function openCard(store: CrossProcessStore, id: string, card: Partial<Card> = {}): Promise<void> {
  const opened: Card = {
    ...{
      id,
      kind: 'halt',
      task: 't',
      code: 'tool_call_limit',
      counters: { actual: 51, limit: 50 },
      evidence: [`${id} stopped`],
    },
    ...{ actions: ['dismiss'], state: 'open' },
    ...card,
  } as Card;
  store.putCard(opened);
  store.append({ type: 'card-changed', card: opened }, { task: 't', agent: 'A' }, store.clock.nowMs());
  await store.shared.settled();
}

async function waitForLease(server: Awaited<ReturnType<typeof serve>>): Promise<void> {
  await until(async () => (await server.send('GET', '/api/alerts')).json.isEvaluated || undefined);
  await until(async () => (await server.send('GET', '/api/alerts')).json.webhooks.length > 0 || undefined);
}

/** Waits until the place of the webhook is stored: then it is not new any more. */
async function waitForPlace(store: CrossProcessStore): Promise<void> {
  await until(async () => (await store.shared.read('alerts-webhook/', 1)).length > 0 || undefined);
}

test(
  'a message is signed over its id, its time and its body, and names the card without its digest',
  limited,
  async () => {
    const store = openFileStore();
    const secret = Buffer.from('a secret of this test');
    const { received, url } = await startReceiver();
    const webhook = makeWebhook(url, { events: all, secret, isSigned: true });
    const server = await serve(store, { publicUrl: 'https://gear.example.com/', alerts: quickAlerts({}, [webhook]) });
    await waitForPlace(store);
    const cardId = 'card-mf3k2x9q-8b1d5e7c4a2f9063-1'; // As random as a secret.
    await openCard(store, cardId, { digest: 'f'.repeat(64), kind: 'ask', actions: ['approve', 'decline'] });
    const { headers, body, json } = await until(() => received[0]);
    const id = String(headers['webhook-id']);
    const time = String(headers['webhook-timestamp']);
    const signature = createHmac('sha256', secret).update(`${id}.${time}.${body}`).digest('base64');
    assert.equal(headers['webhook-signature'], `v1,${signature}`);
    assert.ok(Math.abs(Number(time) * 1000 - Date.now()) < 60_000);
    assert.equal(json.id, id);
    assert.deepEqual([json.type, json.card.id, json.card.agent], ['question', cardId, 'A']);
    assert.equal(json.link, `https://gear.example.com/#/inbox/${cardId}`);
    assert.ok(!body.includes('ffffffff'));
    await server.close();
  },
);

test('a message that is refused is sent again with the same id, and later ones wait for it', limited, async () => {
  const store = openFileStore();
  const { received, url } = await startReceiver((count) => (count <= 2 ? 500 : 200));
  const server = await serve(store, { alerts: quickAlerts({}, [makeWebhook(url, { events: all })]) });
  await waitForPlace(store);
  await openCard(store, 'card-1');
  await openCard(store, 'card-2');
  await until(() => received[3]);
  const ids = received.map(({ json }) => json.card.id);
  assert.deepEqual(ids, ['card-1', 'card-1', 'card-1', 'card-2']);
  assert.equal(new Set(received.slice(0, 3).map(({ headers }) => headers['webhook-id'])).size, 1);
  await server.close();
});

test('a restart neither repeats nor forgets, and a card that was answered meanwhile is left out', limited, async () => {
  const store = openFileStore();
  const { received, url } = await startReceiver();
  const alerts = quickAlerts({}, [makeWebhook(url, { events: all })]);
  await openCard(store, 'card-old');
  const first = await serve(store, { alerts });
  await waitForPlace(store);
  await openCard(store, 'card-1');
  await until(() => received[0]);
  await first.close();
  await openCard(store, 'card-2');
  await openCard(store, 'card-3');
  store.putCard({ ...store.card('card-2')!, state: 'answered', answer: 'dismiss', by: 'ann' });
  await store.shared.settled();
  const second = await serve(store, { alerts });
  await until(() => received[1]);
  await openCard(store, 'card-4');
  await until(() => received[2]);
  assert.deepEqual(
    received.map(({ json }) => json.card.id),
    ['card-1', 'card-3', 'card-4'],
  );
  await second.close();
});

test('the message of a halt names the agent, the task and the answers that its card takes', limited, async () => {
  const store = openFileStore();
  const { received, url } = await startReceiver();
  const server = await serve(store, { alerts: quickAlerts({}, [makeWebhook(url, { events: all })]) });
  await waitForPlace(store);
  await openCard(store, 'card-1', { evidence: ['tool calls: 4 of 3'], actions: ['retry_raised', 'narrow_scope'] });
  const { json } = await until(() => received[0]);
  assert.deepEqual(
    [json.headline, json.lines],
    ['Halted: tool calls: 4 of 3', ['Agent A, task t', 'Answers: retry, narrow']],
  );
  await server.close();
});

test('many cards at once are one message', limited, async () => {
  const store = openFileStore();
  const { received, url } = await startReceiver();
  const alerts = quickAlerts({}, [makeWebhook(url, { events: all })]);
  const first = await serve(store, { alerts });
  await waitForPlace(store);
  await first.close();
  for (let at = 0; at < 50; at++) await openCard(store, `card-${at}`);
  const second = await serve(store, { alerts });
  const { json } = await until(() => received[0]);
  assert.deepEqual([json.type, json.headline], ['digest', '50 cards at once: 50 × halt']);
  await second.close();
  assert.equal(received.length, 1);
});

test('only chosen events are sent', limited, async () => {
  const store = openFileStore();
  const { received, url } = await startReceiver();
  const server = await serve(store, { alerts: quickAlerts({}, [makeWebhook(url, { events: ['questions'] })]) });
  await waitForPlace(store);
  await openCard(store, 'card-1');
  await openCard(store, 'card-2', { kind: 'notice', code: 'notice' });
  await openCard(store, 'card-3', { kind: 'ask' });
  await until(() => received[0]);
  assert.deepEqual(
    received.map(({ json }) => json.card.id),
    ['card-3'],
  );
  await server.close();
});

test('a webhook that hangs or fails is a card once, and the server answers', limited, async () => {
  const store = openFileStore();
  const { received, url } = await startReceiver(() => 503);
  const other = await startReceiver();
  const webhooks = [
    makeWebhook(url, { name: 'broken', events: all }),
    makeWebhook(other.url, { events: all }),
    { ...makeWebhook(url, { name: 'unset', problem: 'the variable X is not set' }), url: undefined } as never,
  ];
  const server = await serve(store, { alerts: quickAlerts({}, webhooks) });
  await waitForLease(server);
  await waitForPlace(store);
  await openCard(store, 'card-1');
  const alerts = await until(async () => {
    const { json } = await server.send('GET', '/api/alerts');
    return json.firing.length === 2 ? json : undefined;
  });
  const states = alerts.webhooks.map((each: { name: string; state: string }) => [each.name, each.state]);
  assert.deepEqual(states, [
    ['broken', 'failing'],
    ['ops', 'working'],
    ['unset', 'failing'],
  ]);
  assert.ok(received.length >= 3);
  const told = await until(() => {
    const found = other.received.map(({ json }) => json.headline).filter((line) => line.includes('webhook broken'));
    return found.length > 0 ? found : undefined;
  });
  assert.equal(told.length, 1);
  assert.ok(!JSON.stringify(alerts).includes('/hook'), 'an address may be a secret');
  assert.deepEqual((await server.send('GET', '/api/store')).json.alerts.failingWebhooks, ['broken', 'unset']);
  await server.close();
});

test('Slack: foreign words are escaped plain text, and the link is ours', limited, async () => {
  const store = openFileStore();
  const { received, url } = await startReceiver();
  const server = await serve(store, { alerts: quickAlerts({}, [makeWebhook(url, { events: all, format: 'slack' })]) });
  await waitForPlace(store);
  const evidence = ['<!channel> & <https://evil.example|Approve>', '*bold* <@U1>'];
  await openCard(store, 'card-<x>|y', { evidence });
  const { json, body } = await until(() => received[0]);
  assert.equal(json.text, 'Halted: &lt;!channel&gt; &amp; &lt;https://evil.example|Approve&gt;');
  assert.deepEqual(
    json.blocks.map((block: { type: string; text: { type: string } }) => [block.type, block.text.type]),
    [
      ['header', 'plain_text'],
      ['section', 'plain_text'],
      ['section', 'mrkdwn'],
    ],
  );
  const base = server.url.slice(0, server.url.indexOf('/#'));
  assert.equal(json.blocks[2].text.text, `<${base}/#/inbox/card-%3Cx%3E%7Cy|Open the card>`);
  assert.ok(!/<[!@]/.test(body.replaceAll(/\\u003c/g, '<')));
  await server.close();
});

test('a missing variable or file is a problem of its webhook alone', (context) => {
  const store = openFileStore();
  context.after(() => store.close());
  const cwd = process.cwd();
  const file = join(process.env.TMPDIR ?? '/tmp', `switchgear-secret-${process.pid}`);
  writeFileSync(file, 'whsec_YWJj\n', { mode: 0o600 });
  const shape = { format: 'json', events: ['alerts'] } as const;
  const [good, unset, wrong, gone] = resolveWebhooks(
    [
      { name: 'good', urlEnv: 'HOOK', secretFile: file, ...shape },
      { name: 'unset', urlEnv: 'NOT_SET', ...shape },
      { name: 'wrong', urlEnv: 'FILE', ...shape },
      { name: 'gone', url: 'https://example.com', secretFile: '/nowhere/secret', ...shape },
    ],
    { env: { HOOK: 'https://u:p@example.com/x', FILE: 'file:///etc/passwd' }, cwd },
  );
  assert.equal(good?.secret?.toString(), 'abc');
  assert.equal(good?.host, 'example.com');
  assert.match(unset!.problem!, /the variable NOT_SET is not set/);
  assert.match(wrong!.problem!, /the variable FILE does not start with https/);
  assert.match(gone!.problem!, /cannot be read: ENOENT/);
});

test('a card that changes while it is open, is put off or comes back is sent once', limited, async () => {
  const store = openFileStore();
  const { received, url } = await startReceiver();
  const webhook = makeWebhook(url, { events: all });
  let server = await serve(store, { alerts: quickAlerts({}, [webhook]) });
  await waitForPlace(store);
  await openCard(store, 'card-1');
  await until(() => received[0]);
  // A run that has ended its agent writes the answers that its card takes now.
  await openCard(store, 'card-1', { actions: ['retry_raised', 'dismiss'] });
  assert.equal((await server.send('POST', '/api/cards/card-1/snooze', { secs: 1 })).status, 200);
  await openCard(store, 'card-2');
  await until(() => received.at(-1)?.json.card.id === 'card-2');
  await server.close();
  server = await serve(store, { alerts: quickAlerts({}, [webhook]) });
  await until(async () => (await server.send('GET', '/api/cards/card-1')).json.card.snoozedUntilMs === undefined);
  await openCard(store, 'card-3');
  await until(() => received.at(-1)?.json.card.id === 'card-3');
  const ids = received.map(({ json }) => json.card.id);
  assert.deepEqual(ids, ['card-1', 'card-2', 'card-3']);
  await server.close();
});

test('no words of an agent keep its question from being sent', limited, async () => {
  const store = openFileStore();
  const { received, url } = await startReceiver();
  const server = await serve(store, { alerts: quickAlerts({}, [makeWebhook(url, { events: all })]) });
  await waitForPlace(store);
  await openCard(store, 'card-1', { kind: 'ask', evidence: ['Again since today'], actions: ['approve', 'decline'] });
  await openCard(store, 'card-2');
  await until(() => received.at(-1)?.json.card.id === 'card-2');
  assert.deepEqual(
    received.map(({ json }) => json.card.id),
    ['card-1', 'card-2'],
  );
  await server.close();
});
