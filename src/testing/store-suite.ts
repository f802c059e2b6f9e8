/** The contract suite of stores: tests that every store has to pass. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Card } from '../core/card.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { type SimulatedClock, simulatedClock } from './simulated-clock.ts';
import { transactionSuite } from './transaction-suite.ts';

/**
 * Makes a store on a clock. `place` names its state: shared stores with the same place share it, and a new place is
 * empty.
 */
export type MakeStore = (clock: Clock, place: string) => Store | Promise<Store>;

/** Registers one test on a store, and closes the store after it. */
export type Story = (title: string, body: (store: Store, clock: SimulatedClock) => void | Promise<void>) => void;

/** Registers one test. */
export type Register = (title: string, run: () => Promise<void>) => unknown;

let places = 0;

/**
 * Registers the contract tests of a store with `node:test`.
 *
 * @param kind 'shared' also registers the tests of shared stores.
 * @default kind 'alone'
 * @example
 * import { memoryStore } from 'switchgear/stores';
 * import { storeSuite } from 'switchgear/testing';
 *
 * storeSuite('memory', (clock) => memoryStore(clock));
 */
export function storeSuite(name: string, makeStore: MakeStore, kind: 'alone' | 'shared' = 'alone'): void {
  storeStories(test, name, makeStore, kind);
}

/** Like `storeSuite`, with another `test` function, such as one that skips if the store's server is missing. */
export function storeStories(test: Register, name: string, makeStore: MakeStore, kind: 'alone' | 'shared'): void {
  const nextPlace = () => `place-${++places}`;

  const story: Story = (title, body) => {
    test(title, async () => {
      const clock = simulatedClock();
      const store = await makeStore(clock, nextPlace());
      try {
        await body(store, clock);
      } finally {
        store.close();
      }
    });
  };

  describe(`the store ${name}`, () => {
    cells(story);
    journal(story);
    cards(story);

    story('uses the clock that it was created with', (store, clock) => {
      clock.advance(5);
      assert.equal(store.clock.nowMs(), clock.nowMs());
    });

    story('can be closed twice', (store) => {
      store.close();
    });

    story('has a shared part only if it is a shared store', (store) => {
      assert.equal(store.shared !== undefined, kind === 'shared');
    });

    test('two stores with two places share no state', async () => {
      const clock = simulatedClock();
      const [one, two] = [await makeStore(clock, nextPlace()), await makeStore(clock, nextPlace())];
      one.cell('mine', () => 1);
      one.append({ type: 'task-missing', name: 'one' }, {}, 0);
      one.putCard(card('c1', 'open'));
      assert.deepEqual([...two.keys()], []);
      assert.deepEqual(two.tail(0), []);
      assert.deepEqual(two.cards(), []);
      one.close();
      two.close();
    });

    if (kind === 'shared') transactionSuite(test, makeStore, nextPlace);
  });
}

function cells(story: Story): void {
  for (const key of ['a', 'a/b', 'breaker/%2Fhome/x', '__proto__', 'constructor', 'toString', 'ключ']) {
    story(`makes the cell ${JSON.stringify(key)} once and then returns the same object`, (store) => {
      let made = 0;
      const initial = () => ({ count: ++made });
      const cell = store.cell(key, initial);
      assert.equal(cell.key, key);
      assert.deepEqual(cell.state, { count: 1 });
      assert.equal(store.cell(key, initial), cell);
      assert.equal(made, 1);
      assert.deepEqual([...store.keys()], [key]);
    });
  }

  story('keeps the states of two cells apart', (store) => {
    const [one, two] = [store.cell('one', () => ({ count: 0 })), store.cell('two', () => ({ count: 0 }))];
    one.state.count = 7;
    assert.deepEqual(two.state, { count: 0 });
    assert.deepEqual([...store.keys()].sort(), ['one', 'two']);
  });

  story('makes a new cell after the old one was dropped', (store) => {
    store.cell('gone', () => ({ count: 0 })).state.count = 9;
    store.drop('gone');
    store.drop('never was');
    assert.deepEqual([...store.keys()], []);
    assert.deepEqual(store.cell('gone', () => ({ count: 0 })).state, { count: 0 });
  });
}

function journal(story: Story): void {
  story('numbers the entries of the journal from 1, with their times and places', (store, clock) => {
    clock.advance(50);
    const place = { task: 't', session: 's', agent: 'a' };
    const first = store.append({ type: 'task-ended', how: 'done' }, place, 40);
    const second = store.append({ type: 'user-observed' }, {}, 50);
    assert.deepEqual(first, { seq: 1, atMs: 40, wallMs: clock.wallMs(), ...place, type: 'task-ended', how: 'done' });
    assert.equal(second.seq, 2);
    assert.deepEqual(store.tail(0), [first, second]);
  });

  story('reads the journal from a sequence number on, oldest first', (store) => {
    for (let at = 0; at < 5; at++) store.append({ type: 'call-observed', name: `${at}` }, {}, at);
    const numbers = (from: number) => store.tail(from).map(({ seq }) => seq);
    assert.deepEqual(numbers(1), [1, 2, 3, 4, 5]);
    assert.deepEqual(numbers(4), [4, 5]);
    assert.deepEqual(numbers(6), []);
  });

  story('writes records and traces into one journal, in order', (store) => {
    for (let at = 0; at < 6; at++) {
      if (at % 2 === 0) store.append({ type: 'user-observed' }, {}, at);
      else store.append({ type: 'task-missing', name: `${at}` }, {}, at);
    }
    assert.deepEqual(
      store
        .tail(0)
        .map(({ atMs }) => atMs)
        .sort(),
      [0, 1, 2, 3, 4, 5],
    );
  });
}

function cards(story: Story): void {
  story('keeps one card per id: the last one that was put', (store) => {
    store.putCard(card('c1', 'open'));
    store.putCard(card('c2', 'open'));
    store.putCard(card('c1', 'answered'));
    assert.equal(store.card('c1')?.state, 'answered');
    assert.equal(store.card('c3'), undefined);
    assert.deepEqual(
      store
        .cards()
        .map(({ id }) => id)
        .sort(),
      ['c1', 'c2'],
    );
  });
}

function card(id: string, state: Card['state']): Card {
  return { id, kind: 'notice', task: 't', code: 'notice', counters: {}, evidence: [], actions: ['dismiss'], state };
}
