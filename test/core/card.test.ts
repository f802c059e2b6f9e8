import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Card, type CardEvent, changeCard } from '../../src/core/card.ts';

const card: Card = {
  id: 'c1',
  kind: 'ask',
  task: 't',
  code: 'rule_declined',
  counters: {},
  evidence: [],
  actions: ['approve', 'decline'],
  state: 'open',
  expiresAtMs: 100,
};

const answered: Card = { ...card, state: 'answered', answer: 'approve', by: 'ann' };
const used: Card = { ...answered, state: 'used' };
const expired: Card = { ...card, state: 'expired' };
const endless: Card = { ...card, expiresAtMs: Number.POSITIVE_INFINITY };
const answer = (atMs: number, said: 'approve' | 'decline' | 'pause' = 'approve'): CardEvent => ({
  type: 'card-answered',
  atMs,
  answer: said,
  by: 'ann',
});
const use = (atMs: number): CardEvent => ({ type: 'card-used', atMs });
const expire = (atMs: number): CardEvent => ({ type: 'card-expired', atMs });

test('a card goes from open to answered to used, or expires; no other change is possible', () => {
  const rows: readonly [what: string, before: Card, event: CardEvent, after: Card][] = [
    ['an answer in time', card, answer(99), answered],
    ['an answer when its time is over', card, answer(100), card],
    ['an answer that was not offered', card, answer(1, 'pause'), card],
    ['a second answer', answered, answer(1, 'decline'), answered],
    ['an answer to an expired card', { ...expired, expiresAtMs: 200 }, answer(1), { ...expired, expiresAtMs: 200 }],
    ['the use of an answer', answered, use(99), used],
    ['its use too late', answered, use(100), answered],
    ['its second use', used, use(1), used],
    ['the use of an open card', card, use(1), card],
    ['expiry at its time', card, expire(100), expired],
    ['expiry before its time', card, expire(99), card],
    ['expiry of an answer nobody used', answered, expire(100), { ...answered, state: 'expired' }],
    ['expiry of a used card', used, expire(100), used],
    ['expiry of a card without end', endless, expire(1e15), endless],
  ];
  for (const [what, before, event, after] of rows) assert.deepEqual(changeCard(before, event), after, what);
  const { expiresAtMs: _, ...untimed } = card;
  assert.equal(changeCard(untimed, answer(1e15)).state, 'answered');
  assert.equal(changeCard(untimed, expire(1e15)), untimed);
});
