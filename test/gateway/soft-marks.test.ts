/** A person has a card before money, tokens or calls are used up: at 80 % and at 95 % of every limit. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addKey, openKeyBook } from '../../src/gateway/keys/key-records.ts';
import { bothStores, testOn } from '../stores/both-stores.ts';
import { ask, messageOf, openGateway, type Setup, sendJson, streamHead, streamTail, streamText } from './harness.ts';

const { kinds, newPlace } = bothStores();

/** Ten thousand tokens of input: three cents a call. */
const answer: Setup['answer'] = ({ body }, response) => {
  if (!body.includes('"stream":true')) return sendJson(response, messageOf('hi', 10_000, 1));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return response.end(streamHead(10_000) + streamText('hi') + streamTail(1));
};

type Opened = Awaited<ReturnType<typeof openGateway>>;

/** The notices in the inbox, without what the halt card says. */
function listNotices({ runtime }: Pick<Opened, 'runtime'>): readonly string[] {
  const notices = runtime.store.cards().filter(({ kind, state }) => kind === 'notice' && state === 'open');
  return notices.map(({ risk = 'low', evidence }) => `${risk}: ${evidence[0]}`);
}

/** Sends calls until one is refused; the number of those that passed. */
async function spend({ post }: Pick<Opened, 'post'>, headers = {}, isStream = false): Promise<number> {
  for (let sent = 0; sent < 100; sent++) {
    const got = await post('/task/a/v1/messages', { ...ask, stream: isStream }, headers);
    await got.text();
    if (got.status !== 200) return sent;
  }
  throw new Error('nothing was refused');
}

for (const isStream of [false, true]) {
  const how = isStream ? 'streams' : 'whole answers';
  test(`the money of a task has a card at 80 % and at 95 %: ${how}`, async (context) => {
    const gateway = await openGateway(context, { answer, limits: { maxSpendCents: 100 } });
    assert.ok((await spend(gateway, {}, isStream)) >= 32);
    assert.deepEqual(listNotices(gateway), [
      'low: gateway-client: spend cents: 81.04 of 100',
      'medium: gateway-client: spend cents: 96.05 of 100, almost used up',
    ]);
  });
}

test('tokens and calls of a task have the same cards', async (context) => {
  const limits = { maxTokens: 410_000, maxModelCalls: 40 };
  const gateway = await openGateway(context, { answer, limits });
  assert.equal(await spend(gateway), 40);
  assert.deepEqual(listNotices(gateway).toSorted(), [
    'low: gateway-client: model calls: 32 of 40',
    'low: gateway-client: tokens: 330033 of 410000',
    'medium: gateway-client: model calls: 38 of 40, almost used up',
    'medium: gateway-client: tokens: 390039 of 410000, almost used up',
  ]);
});

test('a task below another one has no card for what the other one pays', async (context) => {
  const gateway = await openGateway(context, { answer, limits: { maxSpendCents: 100 } });
  await spend(gateway, { 'x-claude-code-agent-id': 'b' });
  const cards = gateway.runtime.store.cards().filter(({ kind }) => kind === 'notice');
  assert.ok(cards.every(({ task }) => gateway.runtime.halted.has(task) || gateway.runtime.tasks.has(task)));
  assert.ok(
    cards.some(({ task, risk }) => task === 'gw-a' && risk === 'medium'),
    JSON.stringify(cards),
  );
});

for (const [kind, make] of Object.entries(kinds)) {
  testOn(kind)(`budgets of all, of a key and of a model have a card at 80 % and at 95 %, ${kind}`, async (c) => {
    const place = newPlace();
    const store = await make(place);
    c.after(() => store.close());
    const key = await addKey(store, 'ann', { budget: { cents: 200, windowSecs: 86_400 } }, 'tester');
    const budget = { unit: 'spend_cents', limit: 300 } as const;
    const budgets = (['global', 'model'] as const).map((scope) => ({ ...budget, scope }));
    const gateway = await openGateway(c, {
      answer,
      keys: await openKeyBook(store),
      env: { KEY: 'sk' },
      listed: (url) => [{ name: 'own', url, key_env: 'KEY' }],
      gear: { store },
      policy: { budgets },
    });
    await spend(gateway, { 'x-api-key': key });
    await store.shared.settled();
    assert.deepEqual(
      listNotices(gateway).map((text) => text.replace(/\$\d\.\d\d of/, '… of')),
      [
        'low: spend of the key ann in any 24 h: … of $2.00',
        'medium: spend of the key ann in any 24 h: … of $2.00, almost used up',
      ],
    );
    const other = await addKey(store, 'ben', {}, 'tester');
    await spend(gateway, { 'x-api-key': other });
    await store.shared.settled();
    const later = listNotices(gateway).slice(2);
    for (const who of ['all agents', 'the model claude-sonnet-4-20250514'])
      for (const [risk, end] of [
        ['low', ''],
        ['medium', ', almost used up'],
      ])
        assert.equal(
          later.filter((text) => new RegExp(`^${risk}: spend of ${who}: \\S+ of \\$3\\.00${end}$`).test(text)).length,
          1,
          `${who} ${risk}: ${later.join('\n')}`,
        );
  });
}
