/** Tests of shared stores: transactions are atomic, lost races leave nothing behind, views are fresh. */

import assert from 'node:assert/strict';
import type { Action } from '../core/action.ts';
import type { Card } from '../core/card.ts';
import type { Entry } from '../core/event.ts';
import type { Cell, CellUpdate, Transaction, TransactionResult } from '../ports/store.ts';
import { simulatedClock } from './simulated-clock.ts';
import type { MakeStore, Register } from './store-suite.ts';
import {
  askCard,
  type CommitFunction,
  type Count,
  commitFunctions,
  commitNowFirst,
  commitOnly,
  counter,
  incrementBy,
  type SharedTestStore,
  seeded,
  waitForView,
} from './transaction-fixtures.ts';

/** Runs one test on stores that share a place, and closes them. */
type SharedStory = (title: string, storeCount: number, body: (...stores: SharedTestStore[]) => Promise<void>) => void;

/** Registers the tests that a shared store has to pass. */
export function transactionSuite(test: Register, makeStore: MakeStore, nextPlace: () => string): void {
  const story: SharedStory = (title, storeCount, body) => {
    test(title, async () => {
      const clock = simulatedClock();
      const place = nextPlace();
      const stores: SharedTestStore[] = [];
      try {
        for (let at = 0; at < storeCount; at++) stores.push((await makeStore(clock, place)) as SharedTestStore);
        await body(...stores);
      } finally {
        for (const store of stores) store.close();
      }
    });
  };
  for (const [name, commit] of commitFunctions) {
    cellStories(story, name, commit);
    counterAndMarkStories(story, name, commit);
    entryStories(story, name, commit);
    raceStories(story, name, commit);
  }
  agreementStory(story);
  viewStories(story);
  journalStories(story);
  failureStories(story);
}

function cellStories(story: SharedStory, name: string, commit: CommitFunction): void {
  story(`${name}: changes a cell to the state that its update returns, and its version grows`, 1, async (store) => {
    const cell = counter(store);
    assert.equal(cell.version, 0);
    assert.equal((await commit(store, incrementBy(cell))).status, 'committed');
    assert.deepEqual(cell.state, { count: 1 });
    const { version } = cell;
    assert.ok(version > 0);
    const intoIt = (state: Count): CellUpdate<Count> => {
      state.count += 10;
      return { state };
    };
    await commit(store, { changes: [{ cell, update: intoIt }] });
    assert.deepEqual(cell.state, { count: 11 });
    assert.ok(cell.version > version);
  });

  story(
    `${name}: an update that keeps changes nothing, one that refuses rejects the whole transaction`,
    1,
    async (store) => {
      const [one, two] = [counter(store, 'one'), counter(store, 'two')];
      await commit(store, incrementBy(one));
      const { version } = one;
      const unchanged = await commit(store, { changes: [{ cell: one, update: () => 'keep' }] });
      assert.equal(unchanged.status, 'committed');
      assert.equal(one.version, version);
      const off = await commit(store, {
        changes: [...incrementBy(one).changes!, { cell: two, update: () => 'refuse' }],
        adds: [{ key: 'spend', amount: 5 }],
        entries: [{ body: { type: 'task-missing', name: 'x' }, place: {}, atMs: 1 }],
      });
      assert.deepEqual(off, { status: 'rejected', by: 'cell', key: 'two' });
      assert.deepEqual(one.state, { count: 1 });
      assert.equal(store.shared.counter('spend'), 0);
      assert.deepEqual(await store.shared.entries(0, 10), []);
    },
  );
}

function counterAndMarkStories(story: SharedStory, name: string, commit: CommitFunction): void {
  story(`${name}: adds up to a ceiling and not beyond, and subtracts whatever the ceiling is`, 1, async (store) => {
    const add = (amount: number, ceiling?: number) =>
      commit(store, { adds: [{ key: 'spend', amount, ...(ceiling === undefined ? {} : { ceiling }) }] });
    assert.deepEqual(await add(60, 100), { status: 'committed', totals: [60], windowCounts: [] });
    assert.deepEqual(await add(41, 100), { status: 'rejected', by: 'counter', key: 'spend' });
    assert.deepEqual(await add(40, 100), { status: 'committed', totals: [100], windowCounts: [] });
    assert.deepEqual(await add(1, 100), { status: 'rejected', by: 'counter', key: 'spend' });
    assert.deepEqual(await add(5), { status: 'committed', totals: [105], windowCounts: [] });
    assert.deepEqual(await add(-30, 50), { status: 'committed', totals: [75], windowCounts: [] });
    assert.equal(store.shared.counter('spend'), 75);
    assert.equal(store.shared.counter('other'), 0);
  });

  story(`${name}: two additions to one counter are held to the ceiling together`, 1, async (store) => {
    const twice = { key: 'spend', amount: 6, ceiling: 10 };
    assert.equal((await commit(store, { adds: [twice, twice] })).status, 'rejected');
    assert.equal(store.shared.counter('spend'), 0);
  });

  story(
    `${name}: counts the marks of a window; a mark that is exactly one window old no longer counts`,
    1,
    async (store) => {
      const mark = async (id: string, atMs: number, most = 10) => {
        const result = await commit(store, { marks: [{ key: 'runs', id, atMs, keepMs: 1000, cap: 5, most }] });
        return result.status === 'committed' ? result.windowCounts[0] : result.status;
      };
      assert.deepEqual(await mark('a', 0), { count: 1, oldestMs: 0 });
      assert.deepEqual(await mark('b', 999), { count: 2, oldestMs: 0 });
      assert.deepEqual(await mark('b', 999), { count: 2, oldestMs: 0 }); // The same call is counted once.
      assert.deepEqual(await mark('c', 1000), { count: 2, oldestMs: 999 });
      assert.deepEqual(store.shared.windowCount('runs', 1000, 1000), { count: 2, oldestMs: 999 });
      assert.equal(await mark('d', 1001, 2), 'rejected');
      assert.deepEqual(await mark('d', 1001, 3), { count: 3, oldestMs: 999 });
      for (let at = 2; at <= 6; at++) await mark(`e${at}`, 1000 + at);
      assert.deepEqual(await mark('f', 1007), { count: 5, oldestMs: 1003 });
      assert.equal(store.shared.windowCount('nothing', 0, 1000).count, 0);
    },
  );
}

function entryStories(story: SharedStory, name: string, commit: CommitFunction): void {
  story(
    `${name}: onCommitted gets the entries of a transaction with their journal numbers`,
    2,
    async (store, other) => {
      const note = (taskName: string) =>
        ({ body: { type: 'task-missing', name: taskName }, place: {}, atMs: 1 }) as const;
      const reported: Entry[] = [];
      const cell = counter(store);
      await commit(other, { entries: [note('of another')] });
      const update = ({ count }: Count): CellUpdate<Count> => ({
        state: { count: count + 1 },
        entries: [note('an update')],
      });
      const onCommitted = (entries: readonly Entry[]) => void reported.push(...entries);
      await commit(store, {
        changes: [{ cell, update }],
        entries: [note('a transaction')],
        queueIfUnavailable: true,
        onCommitted,
      });
      assert.equal(reported.length, 2);
      assert.deepEqual(reported, await store.shared.entries(reported[0]!.seq, 10));
    },
  );

  story(`${name}: writes the entries of an update and of its transaction together`, 1, async (store) => {
    const cell = counter(store);
    const note = { body: { type: 'task-missing', name: 'step' }, place: { task: 't' }, atMs: 7 } as const;
    const changes = [{ cell, update: () => ({ state: { count: 1 }, entries: [note] }) }];
    await commit(store, { changes, entries: [{ ...note, atMs: 8 }] });
    const entries = await store.shared.entries(0, 10);
    assert.deepEqual(
      entries.map(({ seq, atMs, task, type }) => ({ seq, atMs, task, type })),
      [
        { seq: 1, atMs: 7, task: 't', type: 'task-missing' },
        { seq: 2, atMs: 8, task: 't', type: 'task-missing' },
      ],
    );
  });
}

function raceStories(story: SharedStory, name: string, commit: CommitFunction): void {
  story(`${name}: an approval is used once, by the first transaction`, 3, async (...stores) => {
    stores[0]!.putCard({ ...askCard, state: 'answered', answer: 'approve', by: 'ann' });
    await stores[0]!.shared.settled();
    const uses = await Promise.all(
      Array.from({ length: 12 }, async (_, at) => {
        const store = stores[at % stores.length]!;
        await store.shared.settled();
        const cell = store.cell<Card | null>(`card/${askCard.id}`, () => null);
        const update = (card: Card | null): CellUpdate<Card | null> =>
          card?.state === 'answered' ? { state: { ...card, state: 'used' } } : 'refuse';
        return (await commit(store, { changes: [{ cell, update }] })).status;
      }),
    );
    assert.equal(uses.filter((status) => status === 'committed').length, 1);
    assert.equal(uses.filter((status) => status === 'rejected').length, 11);
  });

  story(`${name}: a thousand updates from four stores are all counted`, 4, async (...stores) => {
    const cells = stores.map((store) => counter(store));
    const all = stores.map(async (store, at) => {
      for (let update = 0; update < 250; update++) {
        const result = await commit(store, incrementBy(cells[at]!));
        assert.equal(result.status, 'committed');
      }
    });
    await Promise.all(all);
    const [stored] = await stores[0]!.shared.read('counter', 10);
    assert.deepEqual(stored?.state, { count: 1000 });
  });
}

function agreementStory(story: SharedStory): void {
  story('commitNow and commit decide alike', 2, async (one, two) => {
    const random = seeded(7);
    for (let at = 0; at < 300; at++) {
      const [a, b] = [random(3), random(9)];
      // The same transactions on two sets of names, one with each commit function.
      const makeTransaction = (store: SharedTestStore, set: string): Transaction => ({
        changes: [
          {
            cell: counter(store, `${set}/cell${a}`),
            update: ({ count }: Count): CellUpdate<Count> =>
              count % 7 === 6 ? 'refuse' : { state: { count: count + 1 + b } },
          },
        ],
        adds: [{ key: `${set}/sum${b % 2}`, amount: b - 2, ceiling: 60 }],
        marks: [{ key: `${set}/marks${a}`, id: `${at}`, atMs: at, keepMs: 20, cap: 8, most: 6 }],
      });
      const first = await commitNowFirst(one, makeTransaction(one, 'one'));
      const second = await commitOnly(two, makeTransaction(two, 'two'));
      const plain = (result: TransactionResult) => JSON.stringify(result).replaceAll(/"(one|two)\//g, '"');
      assert.equal(plain(first), plain(second), `transaction ${at}`);
    }
  });
}

function viewStories(story: SharedStory): void {
  story('shows what another store wrote, in an open cell and in one that is opened later', 2, async (one, two) => {
    const [mine, theirs] = [counter(one), counter(two)];
    await one.shared.commit(incrementBy(mine, 5));
    await waitForView(two, () => theirs.state.count === 5);
    assert.equal(theirs.version, mine.version);
    await two.shared.commit(incrementBy(theirs, 1));
    assert.deepEqual(theirs.state, { count: 6 });
    await waitForView(one, () => mine.state.count === 6);
    assert.deepEqual((await two.shared.read('count', 5))[0]?.state, { count: 6 });
  });

  story('gives views the adopted state, and updates the stored state', 2, async (one, two) => {
    const options = { adopt: (view: Count & { local?: number }, stored: Count) => ({ ...stored, local: view.local }) };
    const mine = one.cell<Count & { local?: number | undefined }>('counter', () => ({ count: 0 }), options as never);
    (mine.state as { local?: number }).local = 3;
    await two.shared.commit(incrementBy(counter(two), 4));
    await waitForView(one, () => mine.state.count === 4);
    assert.equal(mine.state.local, 3);
    await one.shared.commit(incrementBy(mine as Cell<Count>, 1));
    assert.deepEqual((await two.shared.read('counter', 1))[0]?.state, { count: 5 });
  });

  story('drops a cell in every store, and its versions still grow', 2, async (one, two) => {
    const cell = counter(one);
    await one.shared.commit(incrementBy(cell));
    const { version } = cell;
    one.drop('counter');
    await one.shared.settled();
    assert.deepEqual(await two.shared.read('counter', 1), []);
    const again = counter(two);
    assert.deepEqual(again.state, { count: 0 });
    await two.shared.commit(incrementBy(again));
    assert.ok(again.version > version);
  });

  story('sends a hint when another store changed a cell', 2, async (one, two) => {
    const cell = counter(two);
    const hints: string[] = [];
    const stop = two.shared.watch((hint) => hints.push(hint.type));
    await one.shared.commit(incrementBy(counter(one)));
    await waitForView(two, () => cell.state.count === 1);
    assert.ok(hints.includes('cell-changed'));
    stop();
  });

  story('lets a watcher read the store while a commit brings the news', 2, async (one, two) => {
    const [cell, other] = [counter(one), counter(two)];
    const stop = two.shared.watch(() => void two.shared.entries(0, 10));
    for (let count = 0; count < 10; count++) {
      await one.shared.commit(incrementBy(cell));
      assert.equal((await two.shared.commit(incrementBy(other))).status, 'committed');
    }
    assert.deepEqual((await one.shared.read('counter', 1))[0]?.state, { count: 20 });
    stop();
  });
}

function journalStories(story: SharedStory): void {
  story('has one secret for all its stores, and one process name for each', 2, async (one, two) => {
    assert.ok(one.shared.secret.length >= 32);
    assert.equal(one.shared.secret, two.shared.secret);
    assert.notEqual(one.shared.process, two.shared.process);
    assert.equal(one.shared.health.state, 'shared');
  });

  story('numbers the entries of all stores without gaps', 3, async (...stores) => {
    await Promise.all(
      stores.map(async (store, at) => {
        for (let n = 0; n < 20; n++) store.append({ type: n % 2 ? 'user-observed' : 'task-missing', name: '' }, {}, at);
        await store.shared.settled();
      }),
    );
    const entries = await stores[0]!.shared.entries(0, 100);
    assert.deepEqual(
      entries.map(({ seq }) => seq),
      Array.from({ length: 60 }, (_, at) => at + 1),
    );
  });

  story('keys fingerprints with the secret: equal ones stay equal, and 0 stays 0', 2, async (one, two) => {
    const entry = (fingerprint: number) => ({
      type: 'action-allowed' as const,
      action: { id: 1, kind: 'tool', name: 'x', agent: 'a', session: 's', fingerprint } as Action,
      probe: false,
    });
    one.append(entry(77), {}, 0);
    one.append(entry(0), {}, 0);
    await one.shared.settled();
    two.append(entry(77), {}, 0);
    await two.shared.settled();
    const fingerprints = (await one.shared.entries(0, 10)).map(
      (line) => line.type === 'action-allowed' && line.action.fingerprint,
    );
    assert.equal(fingerprints[0], fingerprints[2]);
    assert.notEqual(fingerprints[0], 77);
    assert.equal(fingerprints[1], 0);
  });
}

function failureStories(story: SharedStory): void {
  story('an update that throws changes nothing and ends as unavailable', 1, async (store) => {
    const cell = counter(store);
    for (const [, commit] of commitFunctions) {
      const update = () => {
        throw new Error('a bug');
      };
      assert.equal((await commit(store, { changes: [{ cell, update }] })).status, 'unavailable');
    }
    assert.equal((await commitOnly(store, incrementBy(cell))).status, 'committed');
  });
}
