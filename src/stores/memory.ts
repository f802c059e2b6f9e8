/** A store in the memory of this process; every collection is bounded. */

import type { Card } from '../core/card.ts';
import type { Entry, EntryBody, EntryPlace } from '../core/event.ts';
import { cardsMax, journalEntriesMax } from '../core/limits.ts';
import { systemClock } from '../platform/system-clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { Cell, Store } from '../ports/store.ts';

/**
 * Creates a store that lives as long as this process.
 * @default clock the system clock
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { memoryStore } from 'switchgear/stores';
 * import { simulatedClock } from 'switchgear/testing';
 *
 * const gear = createSwitchgear({ store: memoryStore(simulatedClock()) });
 */
export function memoryStore(clock: Clock = systemClock): Store {
  const cells = new Map<string, Cell>();
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
    drop: (key) => void cells.delete(key),
    keys: () => cells.keys(),
    append(body: EntryBody, place: EntryPlace, atMs: number): Entry {
      const entry = { seq: ++seq, atMs, wallMs: clock.wallMs(), ...place, ...body } as Entry;
      entries.push(entry);
      if (entries.length >= 2 * journalEntriesMax) entries = entries.slice(-journalEntriesMax);
      return entry;
    },
    tail(fromSeq: number): readonly Entry[] {
      const wanted = Math.min(seq - fromSeq + 1, journalEntriesMax);
      return wanted > 0 ? entries.slice(-wanted) : [];
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
      cards.clear();
      entries = [];
    },
  };
}
