/** Cards as a person decides about them: counters with their origin, bounds of a retry, folded equals. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Card } from '../../../src/core/card.ts';
import { secsMax } from '../../../src/core/limits.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { readCards } from '../../../src/operator/cards.ts';
import { createCardHistoryReader } from '../../../src/operator/inbox/card-history.ts';
import { findEqualCards, foldCards, sortByUrgency, viewCards } from '../../../src/operator/inbox/card-view.ts';
import { openFileStore, serve } from '../../server/server-setup.ts';

const ask: Card = {
  ...{ id: 'ask-1', kind: 'ask', task: 't', code: 'rule_declined', counters: {}, evidence: ['pay?'], digest: 'd' },
  ...{ actions: ['approve', 'decline'], state: 'open', agent: 'bot', openedWallMs: 2 },
};

test('the card of a halt has agent, time, counters, the origin of each limit, and the bounds of a retry', async () => {
  const store = openFileStore();
  const gear = createSwitchgear({
    ...{ agent: 'deploy-bot', store, log: 'silent', env: {} },
    policy: { task: { max_tool_calls: 2 } },
  });
  const read = gear.guard('read', (page: number) => page);
  await gear.task(() => [read(1), read(2), read(3)]);
  await gear.task({ limits: { maxToolCalls: 1, maxDurationSecs: secsMax } }, () => [read(1), read(2)]);
  await store.shared.settled();
  const history = await createCardHistoryReader(store)();
  const sorted = sortByUrgency(await readCards(store), history);
  const halts = sorted.filter(({ kind }) => kind === 'halt');
  const [first, second] = await viewCards(
    store,
    history,
    halts.map((card) => ({ card, equals: [] })),
  );
  assert.deepEqual([first?.agent, first!.openedWallMs! > 0, first!.waitingMs! >= 0], ['deploy-bot', true, true]);
  assert.deepEqual(first?.details.counters[0], {
    ...{ name: 'tool_calls', used: 3, limit: 2, unit: 'calls' },
    ...{ setting: 'task.max_tool_calls', source: 'the policy of the program' },
  });
  const spend = first?.details.counters.find(({ name }) => name === 'spend_cents');
  assert.deepEqual([spend?.source, spend?.limit, first?.details.spentCents], ['default', 5000, 0]);
  assert.deepEqual(first?.details.raise, { setting: 'task.max_tool_calls', suggested: 4, min: 4, max: 4 });
  assert.deepEqual([first?.details.risk, first!.details.lastEvents.length > 0], ['medium', true]);
  assert.equal(first?.details.lastEvents.at(-1)?.type, 'task-ended');
  assert.equal(second?.details.counters[0]?.source, 'given to the task');
  const listsDuration = (card = first) => card!.details.counters.some(({ name }) => name === 'duration_secs');
  assert.deepEqual([listsDuration(first), listsDuration(second)], [true, false], 'a limit that is off is not listed');
  gear.dispose();
  store.close();
});

test('a halt by a worker or by equal outputs names the setting of its limit and where it was set', async () => {
  const store = openFileStore();
  const gear = createSwitchgear({
    ...{ agent: 'lead', store, log: 'silent', env: {} },
    policy: { delegation: { max_failures: 3, on_trip: 'halt' } },
  });
  await gear.task(async () => {
    for (let at = 0; at < 4; at++) await gear.delegate('chef', () => 'I cannot draw charts.');
  });
  const task = gear.startTask({ id: 'writer' });
  for (let at = 0; at < 3; at++) task.observe({ type: 'assistant', text: 'the same words again' });
  await store.shared.settled();
  const history = await createCardHistoryReader(store)();
  const halts = (await readCards(store)).filter(({ kind }) => kind === 'halt');
  const views = await viewCards(
    store,
    history,
    halts.map((card) => ({ card, equals: [] })),
  );
  const reached = views.map(({ details }) => details.counters[0]!);
  assert.deepEqual(
    reached.map(({ name, used, limit, setting, source }) => [name, used, limit, setting, source]).toSorted(),
    [
      ['delegation_limit', 3, 3, 'delegation.max_failures', 'the policy of the program'],
      ['output_loop', 3, 3, 'loop.window_size', 'default'],
    ],
  );
  gear.dispose();
  store.close();
});

test('cards are sorted by risk and waiting time; equal ones fold, questions only about the same call', () => {
  const halt: Card = { ...ask, id: 'h1', kind: 'halt', code: 'tool_call_limit', counters: { actual: 51, limit: 50 } };
  const notice: Card = { ...ask, id: 'n', kind: 'notice', code: 'notice', risk: 'high', openedWallMs: 3 };
  const cards = [
    halt,
    { ...halt, id: 'h2', task: 'u', counters: { actual: 52, limit: 50 } },
    { ...halt, id: 'h3', agent: 'other' },
    notice,
    ask,
    { ...ask, id: 'ask-2', openedWallMs: 1 },
    { ...ask, id: 'ask-3', task: 'u' },
    { ...ask, id: 'ask-4', digest: 'e' },
    { ...ask, id: 'ask-5', state: 'answered' } as const,
    { ...ask, id: 'ask-6', digest: 'f', alike: 'g' },
    { ...ask, id: 'ask-7', digest: 'h', alike: 'g', task: 'u' },
  ];
  const folded = foldCards(sortByUrgency(cards, { times: new Map() }), 0, new Map());
  assert.deepEqual(
    folded.map(({ card, equals }) => [card.id, ...equals.map(({ id }) => id)]),
    [['ask-2', 'ask-1'], ['ask-3'], ['ask-4'], ['ask-5'], ['ask-6', 'ask-7'], ['n'], ['h1', 'h2'], ['h3']],
  );
});

test('a halt that a process waits for is not folded with one whose process ended, nor halts with other bounds', () => {
  const raise = { setting: 'task.max_spend_cents', suggested: 10, min: 7, max: 10 };
  const halt: Card = { ...ask, kind: 'halt', code: 'token_spend_limit', counters: { actual: 6, limit: 5 }, raise };
  const cards = ['gone', 'waits-1', 'waits-2', 'other'].map((id): Card => ({ ...halt, id, task: id }));
  cards.push({ ...halt, id: 'more', counters: { actual: 7, limit: 5 }, raise: { ...raise, min: 8 } });
  const awaited = new Map([
    ['gone', false],
    ['waits-1', true],
    ['waits-2', true],
  ]);
  assert.deepEqual(
    foldCards(cards, 0, awaited).map(({ card, equals }) => [card.id, ...equals.map(({ id }) => id)]),
    [['gone'], ['waits-1', 'waits-2'], ['other'], ['more']],
  );
  assert.deepEqual(
    findEqualCards(cards, cards[1]!, 0, awaited).map(({ id }) => id),
    ['waits-2'],
  );
});

test('the list of the server has the details, and folds equal cards', async () => {
  const store = openFileStore();
  const server = await serve(store);
  for (const id of ['ask-1', 'ask-2', 'ask-3']) store.putCard({ ...ask, id });
  await store.shared.settled();
  const { cards, total } = (await server.send('GET', '/api/cards')).json;
  assert.deepEqual([total, cards[0].id, cards[0].count, cards[0].equals], [1, 'ask-1', 3, ['ask-2', 'ask-3']]);
  assert.deepEqual([cards[0].agent, cards[0].details.risk, cards[0].waitingMs > 0], ['bot', 'high', true]);
  assert.equal((await server.send('GET', '/api/cards?fold=false')).json.total, 3);
  assert.equal((await server.send('GET', '/api/cards/ask-2')).json.card.details.risk, 'high');
  await server.close();
  store.close();
});
