/** Markup, scripts, terminal codes and format ends in every field stay data in API, metrics, webhooks and output. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { cardApprover } from '../../src/approvers/index.ts';
import { main } from '../../src/cli/main.ts';
import type { Card } from '../../src/core/card.ts';
import { createSwitchgear } from '../../src/index.ts';
import { formatMessage, makeCardMessage, makeDigest } from '../../src/server/alerts/message.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { until } from '../server/alerts/alerts-setup.ts';
import { serve } from '../server/server-setup.ts';
import { hostileStrings } from './hostile-strings.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-hostile-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const long = { timeout: 120_000 };

/** Characters that steer a terminal or cannot be seen; a line feed and a tab may stand in output. */
const steering = /[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const context = { pageUrl: 'https://gear.example.com', wallMs: 1e12, webhook: 'ops' };

function makeCard(text: string): Card {
  return {
    ...{ id: text, kind: 'halt', task: text, code: 'tool_call_limit', counters: { worker: text, [text]: text } },
    ...{ evidence: [text, text], actions: ['dismiss'], state: 'open', agent: text },
  } as Card;
}

/** All texts of a value, names of fields included. */
function listTexts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [key, ...listTexts(item)]);
}

test('there are at least 500 strings', () => {
  assert.ok(new Set(hostileStrings.map(({ text }) => text)).size >= 500);
});

test('webhooks: a message is one line of JSON without markup and steering characters', () => {
  for (const { name, text } of hostileStrings) {
    const message = makeCardMessage(makeCard(text), 'halt', text, context);
    for (const body of [
      formatMessage(message, 'json'),
      formatMessage(makeDigest([{ card: makeCard(text), type: 'halt' }], context), 'json'),
    ]) {
      assert.ok(!/[<>\n]/.test(body), name);
      for (const each of listTexts(JSON.parse(body))) assert.ok(!steering.test(each) && !each.includes('\n'), name);
      assert.ok(JSON.parse(body).link.startsWith('https://gear.example.com/#/inbox'), name);
    }
  }
});

test('Slack: foreign words stay plain and escaped', () => {
  for (const { name, text } of hostileStrings) {
    const body = JSON.parse(formatMessage(makeCardMessage(makeCard(text), 'halt', text, context), 'slack'));
    assert.ok(!/[<>]/.test(body.text), name);
    for (const block of body.blocks.slice(0, -1)) {
      assert.equal(block.text.type, 'plain_text');
      assert.ok(!/[<>]/.test(block.text.text), name);
    }
    const link = body.blocks.at(-1).text.text as string;
    assert.match(link, /^<https:\/\/gear\.example\.com\/#\/inbox\/[^<>|\s]*\|Open the card>$/, name);
  }
});

/** Puts every string into every field, by calls that fail, are refused, and ask. */
async function plantStrings(path: string) {
  const store = sqliteStore({ path });
  const base = { store, env: {}, log: 'silent', project: 'p' } as const;
  for (const [at, { text }] of hostileStrings.entries()) {
    const rules = [
      { target: 'tool:forbidden', condition: 'ability:forbidden', action: 'abort', reason: text },
    ] as const;
    if (at % 20 !== 0) continue;
    const gear = createSwitchgear({ ...base, agent: text, policy: { rules } });
    const forbidden = gear.guard('forbidden', async () => 'never');
    await gear.task({ id: `r${at}` }, () => forbidden());
  }
  const gear = createSwitchgear({ ...base, policy: { task: { max_tool_calls: 2 } } });
  for (const [at, { text }] of hostileStrings.entries()) {
    const fails = gear.guard(text, async (_input: unknown) => {
      throw Object.assign(new Error(text), { code: text });
    });
    await gear.task({ id: text, agent: text }, async () => {
      for (let call = at % 20 === 0 ? 0 : 2; call < 3; call++) await fails({ [text]: text }).catch(() => undefined);
    });
  }
  await store.shared.settled();
  return store;
}

test('API, stream, metrics and commands: strings of calls stay data', long, async () => {
  const path = join(folder, 'state.db');
  const store = await plantStrings(path);
  const rules = [{ condition: 'ability:asked', action: 'confirm' }] as const;
  const gear = createSwitchgear({
    store,
    env: {},
    log: 'silent',
    policy: { rules },
    approver: cardApprover({ store }),
  });
  const asked = gear.guard('asked', async (_input: unknown) => 'ok');
  const texts = hostileStrings.map(({ text }) => text);
  const questions = [0, 100, 200, 300].map((from) =>
    gear.task({ id: `q${from}` }, () => asked(texts.slice(from, from + 100))),
  );
  const server = await serve(store);
  const readQuestions = async (): Promise<readonly Card[]> =>
    (await server.send('GET', '/api/cards?kind=ask&fold=false')).json.cards;
  const open = await until(async () => ((await readQuestions()).length === 4 ? readQuestions() : undefined));
  const paths = [
    'status',
    'cards?state=all&limit=1000',
    'breakers',
    'tasks',
    'store',
    'alerts',
    `cards/${open[0]!.id}`,
  ];
  for (const each of paths) {
    const { text, headers, status } = await server.send('GET', `/api/${each}`);
    assert.equal(status, 200, each);
    assert.match(String(headers['content-type']), /^application\/json/);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.ok(!/[<>]/.test(text), `${each} has markup`);
    assert.ok(!/[^\P{Cc}\n]/u.test(text), `${each} has a control character`);
    JSON.parse(text);
  }
  const question = (await server.send('GET', `/api/cards/${open[0]!.id}`)).json.card;
  assert.ok(!steering.test(question.input), 'the arguments of a question');

  const metrics = (await server.send('GET', '/metrics')).text;
  assert.ok(!steering.test(metrics));
  for (const line of metrics.trimEnd().split('\n'))
    assert.match(
      line,
      /^(# (HELP|TYPE|UNIT|EOF).*|[a-z_0-9]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)*\})? [-+.\deNaInf]+)$/,
    );
  assert.equal(metrics.match(/^switchgear_store_up /gm)?.length, 1);

  for (const args of [
    ['status'],
    ['tail', '-n', '2000'],
    ['inbox', 'list', '--all'],
    ['inbox', 'show', open[0]!.id],
    ['alerts'],
  ]) {
    const lines: string[] = [];
    const print = (line: string) => void lines.push(line);
    const env = { HOME: folder, SWITCHGEAR_STORE: `sqlite:${path}` };
    await main(args, { cwd: folder, env, out: print, err: print });
    assert.ok(lines.length > 0);
    assert.ok(!steering.test(lines.join('\n')), `switchgear ${args.join(' ')}`);
  }
  for (const { id } of open) await server.send('POST', `/api/cards/${id}/answer`, { answer: 'decline' });
  await Promise.all(questions);
  await server.close();
  gear.dispose();
});
