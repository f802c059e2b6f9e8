/** What every store has to keep to: one suite for all of them, to run against your own. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Card } from '../core/card.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { type SimulatedClock, simulatedClock } from './simulated-clock.ts';

/** Registers the tests of the contract with `node:test`. Each asks for an empty store of its own, on a clock given. */
export function storeSuite(name: string, makeStore: (clock: Clock) => Store): void {
  function story(title: string, tell: (store: Store, clock: SimulatedClock) => void): void {
    test(title, () => {
      const clock = simulatedClock();
      const store = makeStore(clock);
      try {
        tell(store, clock);
      } finally {
        store.close();
      }
    });
  }

  describe(`the store ${name}`, () => {
    story('keeps the clock it was made with', (store, clock) => {
      clock.advance(5);
      assert.equal(store.clock.nowMs(), clock.nowMs());
    });

    for (const key of ['a', 'a/b', 'breaker/%2Fhome/x', '__proto__', 'constructor', 'toString', 'ключ']) {
      story(`makes the cell ${JSON.stringify(key)} once and hands out the same one after`, (store) => {
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

    story('changes a cell by what the step returns, and counts its versions up', (store) => {
      const cell = store.cell('counter', () => ({ count: 0 }));
      const { version } = cell;
      const changed = store.transact(cell, ({ count }) => ({ count: count + 1 }));
      assert.deepEqual(changed.state, { count: 1 });
      assert.ok(changed.version > version);
      store.transact(changed, (state) => {
        state.count += 10; // A step may write into what it is given.
        return state;
      });
      assert.deepEqual(store.cell('counter', () => ({ count: -1 })).state, { count: 11 });
    });

    story('keeps cells apart', (store) => {
      const [one, two] = [store.cell('one', () => ({ count: 0 })), store.cell('two', () => ({ count: 0 }))];
      store.transact(one, () => ({ count: 7 }));
      assert.deepEqual(two.state, { count: 0 });
      assert.deepEqual([...store.keys()].sort(), ['one', 'two']);
    });

    story('makes a cell anew after it was dropped', (store) => {
      store.transact(
        store.cell('gone', () => ({ count: 0 })),
        () => ({ count: 9 }),
      );
      store.drop('gone');
      store.drop('never was');
      assert.deepEqual([...store.keys()], []);
      assert.deepEqual(store.cell('gone', () => ({ count: 0 })).state, { count: 0 });
    });

    story('adds up to a ceiling and not beyond', (store) => {
      assert.deepEqual(store.add('spend', 60, 100), { ok: true, total: 60 });
      assert.deepEqual(store.add('spend', 41, 100), { ok: false, total: 60 });
      assert.deepEqual(store.add('spend', 40, 100), { ok: true, total: 100 });
      assert.deepEqual(store.add('spend', 1, 100), { ok: false, total: 100 });
      assert.deepEqual(store.add('spend', 5), { ok: true, total: 105 });
    });

    story('takes something back whatever the ceiling, and keeps sums apart', (store) => {
      store.add('spend', 120);
      assert.deepEqual(store.add('spend', -30, 50), { ok: true, total: 90 });
      assert.deepEqual(store.add('other', 1, 50), { ok: true, total: 1 });
      store.drop('spend');
      assert.deepEqual(store.add('spend', 2, 50), { ok: true, total: 2 });
    });

    story('counts the marks of a window, the new one included; one that is exactly a window old has left', (store) => {
      assert.equal(store.mark('runs', 0, 1000, 10), 1);
      assert.equal(store.mark('runs', 999, 1000, 10), 2);
      assert.equal(store.mark('runs', 1000, 1000, 10), 2);
      assert.deepEqual(store.marks('runs', 1500, 1000), [999, 1000]);
      assert.deepEqual(store.marks('runs', 1999, 1000), [1000]);
      assert.deepEqual(store.marks('runs', 2000, 1000), []);
    });

    story('looks at marks without adding one, and forgets them when told to', (store) => {
      store.mark('runs', 1, 1000, 10);
      assert.deepEqual(store.marks('runs', 2, 1000), [1]);
      assert.deepEqual(store.marks('runs', 2, 1000), [1]);
      assert.deepEqual(store.marks('nothing', 2, 1000), []);
      store.drop('runs');
      assert.deepEqual(store.marks('runs', 2, 1000), []);
    });

    story('keeps no more marks than it may, and the newest of them', (store) => {
      for (let atMs = 1; atMs <= 8; atMs++) assert.equal(store.mark('runs', atMs, 1000, 5), Math.min(atMs, 5));
      assert.deepEqual(store.marks('runs', 8, 1000), [4, 5, 6, 7, 8]);
    });

    story('numbers the entries of the journal from 1, with their times and places', (store, clock) => {
      clock.advance(50);
      const place = { task: 't', session: 's', agent: 'a' };
      const first = store.append({ type: 'task-ended', how: 'done' }, place, 40);
      const second = store.append({ type: 'user-observed' }, {}, 50);
      assert.deepEqual(first, { seq: 1, atMs: 40, wallMs: clock.wallMs(), ...place, type: 'task-ended', how: 'done' });
      assert.equal(second.seq, 2);
      assert.deepEqual(store.tail(0), [first, second]);
    });

    story('reads the journal from a number on, oldest first', (store) => {
      for (let at = 0; at < 5; at++) store.append({ type: 'call-observed', name: `${at}` }, {}, at);
      const numbers = (from: number) => store.tail(from).map(({ seq }) => seq);
      assert.deepEqual(numbers(1), [1, 2, 3, 4, 5]);
      assert.deepEqual(numbers(4), [4, 5]);
      assert.deepEqual(numbers(6), []);
    });

    story('keeps one card per id, the last one put', (store) => {
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

    story('can be closed twice', (store) => {
      store.close();
    });

    test('two stores of one process know nothing of each other', () => {
      const clock = simulatedClock();
      const [one, two] = [makeStore(clock), makeStore(clock)];
      one.cell('mine', () => 1);
      one.add('sum', 5);
      one.append({ type: 'user-observed' }, {}, 0);
      assert.deepEqual([...two.keys()], []);
      assert.deepEqual(two.add('sum', 1), { ok: true, total: 1 });
      assert.deepEqual(two.tail(0), []);
      one.close();
      two.close();
    });
  });
}

function card(id: string, state: Card['state']): Card {
  return { id, kind: 'notice', task: 't', code: 'notice', counters: {}, evidence: [], actions: ['dismiss'], state };
}
