/** State in this process's memory: everything answers at once, and everything is bounded. */

import type { Card } from '../core/card.ts';
import type { Entry, EntryBody, EntryPlace } from '../core/event.ts';
import { cardsMax, journalEntriesMax } from '../core/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Cell, Reserved, Store } from '../ports/store.ts';

interface MemoryCell {
  readonly key: string;
  state: unknown;
  version: number;
}

export function memoryStore(clock: Clock): Store {
  const cells = new Map<string, MemoryCell>();
  const sums = new Map<string, number>();
  const marks = new Map<string, number[]>();
  const cards = new Map<string, Card>();
  let entries: Entry[] = [];
  let seq = 0;

  return {
    clock,
    cell<S>(key: string, initial: () => S): Cell<S> {
      let cell = cells.get(key);
      if (cell === undefined) {
        cell = { key, state: initial(), version: 1 };
        cells.set(key, cell);
      }
      return cell as Cell<S>;
    },
    transact<S>(cell: Cell<S>, step: (state: S) => S): Cell<S> {
      const own = cell as MemoryCell;
      own.state = step(own.state as S);
      own.version++;
      return cell;
    },
    add(key: string, amount: number, ceiling = Number.POSITIVE_INFINITY): Reserved {
      const total = sums.get(key) ?? 0;
      if (amount > 0 && total + amount > ceiling) return { ok: false, total };
      sums.set(key, total + amount);
      return { ok: true, total: total + amount };
    },
    mark(key: string, atMs: number, keepMs: number, cap: number): number {
      const kept = recent(marks.get(key), atMs, keepMs);
      kept.push(atMs);
      if (kept.length > cap) kept.shift();
      marks.set(key, kept);
      return kept.length;
    },
    marks: (key, atMs, keepMs) => recent(marks.get(key), atMs, keepMs),
    drop(key: string): void {
      cells.delete(key);
      sums.delete(key);
      marks.delete(key);
    },
    keys: () => cells.keys(),
    append(body: EntryBody, place: EntryPlace, atMs: number): Entry {
      const entry = { seq: ++seq, atMs, wallMs: clock.wallMs(), ...place, ...body } as Entry;
      entries.push(entry);
      if (entries.length >= 2 * journalEntriesMax) entries = entries.slice(-journalEntriesMax);
      return entry;
    },
    tail(fromSeq: number): readonly Entry[] {
      const kept = entries.slice(-journalEntriesMax);
      const first = kept[0]?.seq ?? 0;
      return kept.slice(Math.max(0, fromSeq - first));
    },
    putCard(card: Card): void {
      cards.delete(card.id);
      cards.set(card.id, card);
      if (cards.size > cardsMax) cards.delete(cards.keys().next().value!);
    },
    card: (id) => cards.get(id),
    cards: () => [...cards.values()],
    close(): void {
      cells.clear();
      sums.clear();
      marks.clear();
      cards.clear();
      entries = [];
    },
  };
}

function recent(times: readonly number[] | undefined, atMs: number, keepMs: number): number[] {
  return times === undefined ? [] : times.filter((timeMs) => atMs - timeMs < keepMs);
}
