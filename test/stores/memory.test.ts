import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cardsMax, journalEntriesMax } from '../../src/core/limits.ts';
import { systemClock } from '../../src/platform/system-clock.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { simulatedClock, storeSuite } from '../../src/testing/index.ts';

storeSuite('in memory', memoryStore);

test('without a clock, the store in memory has the system clock', () => {
  assert.equal(memoryStore().clock, systemClock);
});

test('the journal in memory keeps its last entries and their numbers', () => {
  const store = memoryStore(simulatedClock());
  const written = 3 * journalEntriesMax + 7;
  for (let at = 0; at < written; at++) store.append({ type: 'sign-observed' }, {}, at);
  const kept = store.tail(0);
  assert.equal(kept.length, journalEntriesMax);
  assert.equal(kept.at(-1)?.seq, written);
  assert.equal(kept[0]?.seq, written - journalEntriesMax + 1);
  assert.deepEqual(
    store.tail(written - 1).map(({ seq }) => seq),
    [written - 1, written],
  );
});

test('cards in memory are bounded, and the oldest is evicted first', () => {
  const store = memoryStore(simulatedClock());
  const card = {
    kind: 'notice',
    task: 't',
    code: 'notice',
    counters: {},
    evidence: [],
    actions: [],
    state: 'open',
  } as const;
  for (let at = 0; at <= cardsMax; at++) store.putCard({ ...card, id: `c-${at}` });
  assert.equal(store.cards().length, cardsMax);
  assert.equal(store.card('c-0'), undefined);
  assert.ok(store.card(`c-${cardsMax}`));
});
