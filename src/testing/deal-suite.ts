/** What a store that processes share has to keep to: deals are whole, races are lost cleanly, views are fresh. */

import assert from 'node:assert/strict';
import type { Action } from '../core/action.ts';
import type { Card } from '../core/card.ts';
import type { Entry } from '../core/event.ts';
import type { Cell, Deal, Dealt, Next } from '../ports/store.ts';
import { askCard, type Count, counter, doors, nowDoor, plus, type Shop, seeded, seen, soonDoor } from './deals.ts';
import { simulatedClock } from './simulated-clock.ts';
import type { MakeStore, Register } from './store-suite.ts';

export function dealSuite(test: Register, makeStore: MakeStore, nextPlace: () => string): void {
  /** Tells a story about stores that share one place. */
  function story(title: string, many: number, tell: (...stores: Shop[]) => Promise<void>): void {
    test(title, async () => {
      const clock = simulatedClock();
      const place = nextPlace();
      const stores: Shop[] = [];
      try {
        for (let at = 0; at < many; at++) stores.push((await makeStore(clock, place)) as Shop);
        await tell(...stores);
      } finally {
        for (const store of stores) store.close();
      }
    });
  }

  for (const [name, door] of doors) {
    story(`${name}: changes a cell by what the step returns, and its version grows`, 1, async (store) => {
      const cell = counter(store);
      assert.equal(cell.version, 0);
      assert.equal((await door(store, plus(cell))).status, 'done');
      assert.deepEqual(cell.state, { count: 1 });
      const { version } = cell;
      assert.ok(version > 0);
      const intoIt = (state: Count): Next<Count> => {
        state.count += 10;
        return { state };
      };
      await door(store, { changes: [{ cell, step: intoIt }] });
      assert.deepEqual(cell.state, { count: 11 });
      assert.ok(cell.version > version);
    });

    story(`${name}: a step that keeps changes nothing, one that refuses calls the whole deal off`, 1, async (store) => {
      const [one, two] = [counter(store, 'one'), counter(store, 'two')];
      await door(store, plus(one));
      const { version } = one;
      const kept = await door(store, { changes: [{ cell: one, step: () => 'keep' }] });
      assert.equal(kept.status, 'done');
      assert.equal(one.version, version);
      const off = await door(store, {
        changes: [...plus(one).changes!, { cell: two, step: () => 'refuse' }],
        sums: [{ key: 'spend', amount: 5 }],
        notes: [{ body: { type: 'task-missing', name: 'x' }, place: {}, atMs: 1 }],
      });
      assert.deepEqual(off, { status: 'refused', by: 'cell', key: 'two' });
      assert.deepEqual(one.state, { count: 1 });
      assert.equal(store.shared.sum('spend'), 0);
      assert.deepEqual(await store.shared.entries(0, 10), []);
    });

    story(`${name}: adds up to a ceiling and not beyond, and takes back whatever the ceiling`, 1, async (store) => {
      const add = (amount: number, ceiling?: number) =>
        door(store, { sums: [{ key: 'spend', amount, ...(ceiling === undefined ? {} : { ceiling }) }] });
      assert.deepEqual(await add(60, 100), { status: 'done', totals: [60], marked: [] });
      assert.deepEqual(await add(41, 100), { status: 'refused', by: 'sum', key: 'spend' });
      assert.deepEqual(await add(40, 100), { status: 'done', totals: [100], marked: [] });
      assert.deepEqual(await add(1, 100), { status: 'refused', by: 'sum', key: 'spend' });
      assert.deepEqual(await add(5), { status: 'done', totals: [105], marked: [] });
      assert.deepEqual(await add(-30, 50), { status: 'done', totals: [75], marked: [] });
      assert.equal(store.shared.sum('spend'), 75);
      assert.equal(store.shared.sum('other'), 0);
    });

    story(`${name}: whoever made a deal hears its notes with the numbers of the journal`, 2, async (store, other) => {
      const note = (said: string) => ({ body: { type: 'task-missing', name: said }, place: {}, atMs: 1 }) as const;
      const heard: Entry[] = [];
      const cell = counter(store);
      await door(other, { notes: [note('of another')] });
      const step = ({ count }: Count): Next<Count> => ({ state: { count: count + 1 }, notes: [note('a step')] });
      const arrived = (entries: readonly Entry[]) => void heard.push(...entries);
      await door(store, { changes: [{ cell, step }], notes: [note('a deal')], mustArrive: true, arrived });
      assert.equal(heard.length, 2);
      assert.deepEqual(heard, await store.shared.entries(heard[0]!.seq, 10));
    });

    story(`${name}: one sum twice in a deal is held to its ceiling as a whole`, 1, async (store) => {
      const twice = { key: 'spend', amount: 6, ceiling: 10 };
      assert.equal((await door(store, { sums: [twice, twice] })).status, 'refused');
      assert.equal(store.shared.sum('spend'), 0);
    });

    story(`${name}: counts the marks of a window; one that is exactly a window old has left`, 1, async (store) => {
      const mark = async (id: string, atMs: number, most = 10) => {
        const dealt = await door(store, { marks: [{ key: 'runs', id, atMs, keepMs: 1000, cap: 5, most }] });
        return dealt.status === 'done' ? dealt.marked[0] : dealt.status;
      };
      assert.deepEqual(await mark('a', 0), { count: 1, oldestMs: 0 });
      assert.deepEqual(await mark('b', 999), { count: 2, oldestMs: 0 });
      assert.deepEqual(await mark('b', 999), { count: 2, oldestMs: 0 }); // The same call is counted once.
      assert.deepEqual(await mark('c', 1000), { count: 2, oldestMs: 999 });
      assert.deepEqual(store.shared.marked('runs', 1000, 1000), { count: 2, oldestMs: 999 });
      assert.equal(await mark('d', 1001, 2), 'refused');
      assert.deepEqual(await mark('d', 1001, 3), { count: 3, oldestMs: 999 });
      for (let at = 2; at <= 6; at++) await mark(`e${at}`, 1000 + at);
      assert.deepEqual(await mark('f', 1007), { count: 5, oldestMs: 1003 });
      assert.equal(store.shared.marked('nothing', 0, 1000).count, 0);
    });

    story(`${name}: writes its notes with the change that makes them true`, 1, async (store) => {
      const cell = counter(store);
      const note = { body: { type: 'task-missing', name: 'step' }, place: { task: 't' }, atMs: 7 } as const;
      const changes = [{ cell, step: () => ({ state: { count: 1 }, notes: [note] }) }];
      await door(store, { changes, notes: [{ ...note, atMs: 8 }] });
      const entries = await store.shared.entries(0, 10);
      assert.deepEqual(
        entries.map(({ seq, atMs, task, type }) => ({ seq, atMs, task, type })),
        [
          { seq: 1, atMs: 7, task: 't', type: 'task-missing' },
          { seq: 2, atMs: 8, task: 't', type: 'task-missing' },
        ],
      );
    });

    story(`${name}: an approval is used once, by whoever comes first`, 3, async (...stores) => {
      stores[0]!.putCard({ ...askCard, state: 'answered', answer: 'approve', by: 'ann' });
      await stores[0]!.shared.settled();
      const uses = await Promise.all(
        Array.from({ length: 12 }, async (_, at) => {
          const store = stores[at % stores.length]!;
          await store.shared.settled();
          const cell = store.cell<Card | null>(`card/${askCard.id}`, () => null);
          const step = (card: Card | null): Next<Card | null> =>
            card?.state === 'answered' ? { state: { ...card, state: 'used' } } : 'refuse';
          return (await door(store, { changes: [{ cell, step }] })).status;
        }),
      );
      assert.equal(uses.filter((status) => status === 'done').length, 1);
      assert.equal(uses.filter((status) => status === 'refused').length, 11);
    });

    story(`${name}: a thousand steps from four stores lose nothing`, 4, async (...stores) => {
      const cells = stores.map((store) => counter(store));
      const all = stores.map(async (store, at) => {
        for (let step = 0; step < 250; step++) {
          const dealt = await door(store, plus(cells[at]!));
          assert.equal(dealt.status, 'done');
        }
      });
      await Promise.all(all);
      const [stored] = await stores[0]!.shared.read('counter', 10);
      assert.deepEqual(stored?.state, { count: 1000 });
    });
  }

  story('both doors decide alike', 2, async (one, two) => {
    const random = seeded(7);
    for (let at = 0; at < 300; at++) {
      const [a, b] = [random(3), random(9)];
      // The same deals on two sets of names, one through each door.
      const dealOf = (store: Shop, set: string): Deal => ({
        changes: [
          {
            cell: counter(store, `${set}/cell${a}`),
            step: ({ count }: Count): Next<Count> => (count % 7 === 6 ? 'refuse' : { state: { count: count + 1 + b } }),
          },
        ],
        sums: [{ key: `${set}/sum${b % 2}`, amount: b - 2, ceiling: 60 }],
        marks: [{ key: `${set}/marks${a}`, id: `${at}`, atMs: at, keepMs: 20, cap: 8, most: 6 }],
      });
      const first = await nowDoor(one, dealOf(one, 'one'));
      const second = await soonDoor(two, dealOf(two, 'two'));
      const plain = (dealt: Dealt) => JSON.stringify(dealt).replaceAll(/"(one|two)\//g, '"');
      assert.equal(plain(first), plain(second), `deal ${at}`);
    }
  });

  story('sees what another wrote: a cell that is looked at, and one that is opened later', 2, async (one, two) => {
    const [mine, theirs] = [counter(one), counter(two)];
    await one.shared.soon(plus(mine, 5));
    await seen(two, () => theirs.state.count === 5);
    assert.equal(theirs.version, mine.version);
    await two.shared.soon(plus(theirs, 1));
    assert.deepEqual(theirs.state, { count: 6 });
    await seen(one, () => mine.state.count === 6);
    assert.deepEqual((await two.shared.read('count', 5))[0]?.state, { count: 6 });
  });

  story('shows a view what it adopts, and steps what is stored', 2, async (one, two) => {
    const options = { adopt: (view: Count & { local?: number }, stored: Count) => ({ ...stored, local: view.local }) };
    const mine = one.cell<Count & { local?: number | undefined }>('counter', () => ({ count: 0 }), options as never);
    (mine.state as { local?: number }).local = 3;
    await two.shared.soon(plus(counter(two), 4));
    await seen(one, () => mine.state.count === 4);
    assert.equal(mine.state.local, 3);
    await one.shared.soon(plus(mine as Cell<Count>, 1));
    assert.deepEqual((await two.shared.read('counter', 1))[0]?.state, { count: 5 });
  });

  story('forgets a dropped cell everywhere, and its versions still grow', 2, async (one, two) => {
    const cell = counter(one);
    await one.shared.soon(plus(cell));
    const { version } = cell;
    one.drop('counter');
    await one.shared.settled();
    assert.deepEqual(await two.shared.read('counter', 1), []);
    const again = counter(two);
    assert.deepEqual(again.state, { count: 0 });
    await two.shared.soon(plus(again));
    assert.ok(again.version > version);
  });

  story('hints at cells that others changed', 2, async (one, two) => {
    const cell = counter(two);
    const hints: string[] = [];
    const stop = two.shared.watch((hint) => hints.push(hint.type));
    await one.shared.soon(plus(counter(one)));
    await seen(two, () => cell.state.count === 1);
    assert.ok(hints.includes('cell-changed'));
    stop();
  });

  story('has a secret of its own that all share, and a name that none share', 2, async (one, two) => {
    assert.ok(one.shared.secret.length >= 32);
    assert.equal(one.shared.secret, two.shared.secret);
    assert.notEqual(one.shared.process, two.shared.process);
    assert.equal(one.shared.health.state, 'shared');
  });

  story('numbers the entries of all stores without a gap', 3, async (...stores) => {
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

  story('leases a sum in parts: never over, and what is in hand goes back', 2, async (one, two) => {
    const leases = [one, two].map(({ shared }) => shared.lease('budget', 1_000));
    assert.equal(one.shared.lease('budget', 1_000), leases[0]);
    let spent = 0;
    for (let at = 0; ; at++) {
      const lease = leases[at % 2]!;
      if (!lease.take(3) && !((await lease.more(3)) && lease.take(3))) break;
      spent += 3;
    }
    assert.ok(spent <= 1_000 && spent >= 980, `${spent} were spent`);
    leases[0]!.back(2); // It cost one instead of three.
    for (const lease of leases) lease.close();
    await Promise.all([one.shared.settled(), two.shared.settled()]);
    assert.deepEqual(await one.shared.soon({ sums: [{ key: 'budget', amount: 0 }] }), {
      status: 'done',
      totals: [spent - 2],
      marked: [],
    });
  });

  story(
    'fingerprints leave the process keyed: equal ones stay equal, and nobody finds them again',
    2,
    async (one, two) => {
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
      const kept = (await one.shared.entries(0, 10)).map(
        (line) => line.type === 'action-allowed' && line.action.fingerprint,
      );
      assert.equal(kept[0], kept[2]);
      assert.notEqual(kept[0], 77);
      assert.equal(kept[1], 0);
    },
  );

  story('a step that throws changes nothing and is told as away', 1, async (store) => {
    const cell = counter(store);
    for (const [, door] of doors) {
      const step = () => {
        throw new Error('a bug');
      };
      assert.equal((await door(store, { changes: [{ cell, step }] })).status, 'away');
    }
    assert.equal((await soonDoor(store, plus(cell))).status, 'done');
  });
}
