/** Learns from the journal when cards were opened and answered: cards themselves have no time. */

import { journalEntriesMax } from '../core/limits.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import { findLastSeq, readJournalEntries } from './journal.ts';

/** The wall times of a card. */
export interface CardTimes {
  readonly openedWallMs: number;
  readonly answeredWallMs?: number;
}

/** Returns the times of cards by id, as far as the journal has them; each call reads only new entries. */
export function createCardTimesReader({ shared }: CrossProcessStore): () => Promise<ReadonlyMap<string, CardTimes>> {
  const times = new Map<string, CardTimes>();
  let last: number | undefined;
  let reading: Promise<ReadonlyMap<string, CardTimes>> | undefined;

  async function read(): Promise<ReadonlyMap<string, CardTimes>> {
    last ??= Math.max(0, (await findLastSeq(shared)) - journalEntriesMax);
    for (const entry of await readJournalEntries(shared, last + 1, journalEntriesMax)) {
      last = entry.seq;
      if (entry.type === 'card-changed') learn(entry.card.id, entry.card.state === 'open', entry.wallMs);
    }
    return times;
  }

  function learn(id: string, isOpen: boolean, wallMs: number): void {
    const before = times.get(id);
    if (isOpen) {
      if (before !== undefined && before.answeredWallMs === undefined) return; // An open card that changed.
      if (times.size >= journalEntriesMax) times.delete(times.keys().next().value!);
      times.set(id, { openedWallMs: wallMs });
    } else if (before !== undefined && before.answeredWallMs === undefined)
      times.set(id, { ...before, answeredWallMs: wallMs });
  }

  return () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}
