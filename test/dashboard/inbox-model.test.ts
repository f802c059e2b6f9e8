/** The open cards of the page, as entries and answers of the API change them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  applyEntries,
  cardsLoadedMax,
  describeMore,
  dropCards,
  type InboxState,
  mergeCards,
  type PageCard,
  takeReading,
} from '../../dashboard/src/logic/inbox-model.ts';
import type { Entry } from '../../src/core/event.ts';

const empty: InboxState = { cards: [], total: 0 };
let seq = 0;

function makeCard(id: string, changes: Partial<PageCard> = {}): PageCard {
  return {
    ...{ id, kind: 'halt', task: 't', code: 'tool_call_limit', counters: { actual: 6, limit: 5 }, state: 'open' },
    ...{ evidence: [`tool calls of ${id}`], actions: ['dismiss'] },
    ...changes,
  } as PageCard;
}

function changed(card: PageCard, agent?: string): Entry {
  return { seq: ++seq, atMs: 1, wallMs: seq, type: 'card-changed', card, ...(agent && { agent }) };
}

test('a card whose entry came while the list was read neither goes nor comes back', () => {
  const opened = applyEntries({ cards: [makeCard('old')], total: 1 }, [changed(makeCard('new'), 'bot')], 0);
  const before = takeReading(opened, [makeCard('old')], 1, new Set(['new']));
  assert.deepEqual([before.cards.map(({ id }) => id).toSorted(), before.total], [['new', 'old'], 2]);
  const answered = applyEntries(before, [changed(makeCard('old', { state: 'answered' }))], 0);
  const after = takeReading(answered, [makeCard('old'), makeCard('new')], 2, new Set(['old']));
  assert.deepEqual([after.cards.map(({ id }) => id), after.total], [['new'], 1]);
  const folded = takeReading(opened, [makeCard('old', { count: 2, equals: ['new'] })], 1, new Set(['new']));
  assert.deepEqual([folded.cards.map(({ id }) => id), folded.total], [['old'], 1]);
  assert.deepEqual(takeReading(opened, [], 0, new Set()).cards, [], 'without an entry the list decides');
});

test('a page that does not hold all open cards says how many more there are', () => {
  const cards = Array.from({ length: cardsLoadedMax }, (_, at) => makeCard(`c${at}`));
  assert.equal(
    describeMore({ cards, total: 10_000 }),
    'The 1,000 most urgent cards are listed. 9,000 more are open: they follow as these are decided.',
  );
  assert.equal(describeMore({ cards, total: cardsLoadedMax }), undefined);
  assert.equal(describeMore({ cards: cards.slice(0, 100), total: 10_000 }), undefined, 'the next ones are being read');
});

const idsOf = ({ cards }: InboxState) => cards.map(({ id }) => id);

test('an entry opens a card, changes it, and takes it away when it is answered', () => {
  const opened = applyEntries(empty, [changed(makeCard('a'), 'bot'), changed(makeCard('b'))], 0);
  assert.deepEqual([idsOf(opened), opened.total, opened.cards[0]?.agent], [['a', 'b'], 2, 'bot']);
  const detailed = mergeCards(opened, [{ ...opened.cards[0]!, details: { risk: 'medium' } }], 2);
  const again = applyEntries(detailed, [changed(makeCard('a', { evidence: ['more'] }))], 0);
  assert.deepEqual([again.cards[0]?.details, again.cards[0]?.evidence, again.total], [{ risk: 'medium' }, ['more'], 2]);
  const answered = applyEntries(again, [changed(makeCard('a', { state: 'answered' }))], 0);
  assert.deepEqual([idsOf(answered), answered.total], [['b'], 1]);
  const unknown = applyEntries(answered, [changed(makeCard('never seen', { state: 'used' }))], 0);
  assert.equal(unknown.total, 1, 'the end of an unknown card takes none away');
});

test('questions come before halts and notices, and the longest waiting agent first', () => {
  const cards = [
    makeCard('late halt', { openedWallMs: 9 }),
    makeCard('notice', { kind: 'notice', openedWallMs: 1 }),
    makeCard('early halt', { openedWallMs: 2 }),
    makeCard('question', { kind: 'ask', openedWallMs: 8 }),
    makeCard('grave halt', { openedWallMs: 7, risk: 'high' }),
  ];
  assert.deepEqual(idsOf(mergeCards(empty, cards, 5)), [
    ...['grave halt', 'question', 'early halt', 'late halt', 'notice'],
  ]);
});

test('a snoozed card is not open until its time', () => {
  const open = applyEntries(empty, [changed(makeCard('a'))], 0);
  assert.equal(applyEntries(open, [changed(makeCard('a', { snoozedUntilMs: 50 }))], 49).total, 0);
  assert.equal(applyEntries(open, [changed(makeCard('a', { snoozedUntilMs: 50 }))], 50).total, 1);
});

test('a card that the server folds into another one does not appear for a moment', () => {
  const same = { evidence: ['tool calls: 6 of 5'], agent: 'bot' };
  const state = applyEntries(empty, [changed(makeCard('a', same)), changed(makeCard('b', same))], 0);
  assert.deepEqual(idsOf(state), ['a']);
  const questions = ['x', 'y'].map((id) => changed(makeCard(id, { ...same, kind: 'ask' })));
  assert.equal(applyEntries(empty, questions, 0).total, 2, 'questions without a digest are never equal');
});

test('a card that did not change stays the same object, whatever its age', () => {
  const before = mergeCards(empty, [makeCard('a', { waitingMs: 1 }), makeCard('b')], 2);
  const after = mergeCards(empty, [makeCard('a', { waitingMs: 900 }), makeCard('b', { count: 2 })], 2, before);
  assert.equal(after.cards[0], before.cards[0]);
  assert.notEqual(after.cards[1], before.cards[1]);
});

test('cards beyond the most are counted, not held', () => {
  const entries = Array.from({ length: cardsLoadedMax + 5 }, (_, at) => changed(makeCard(`c${at}`)));
  const state = applyEntries(empty, entries, 0);
  assert.deepEqual([state.cards.length, state.total], [cardsLoadedMax, cardsLoadedMax + 5]);
});

test('expired cards are dropped, and a state without any is the same', () => {
  const state = mergeCards(empty, [makeCard('a', { expiresAtMs: 10 }), makeCard('b')], 2);
  const isExpired = ({ expiresAtMs }: PageCard) => expiresAtMs !== undefined;
  assert.deepEqual([idsOf(dropCards(state, isExpired)), dropCards(state, isExpired).total], [['b'], 1]);
  assert.equal(
    dropCards(state, () => false),
    state,
  );
});
