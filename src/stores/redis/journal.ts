/** The journal of a Redis store: entries are sent once per tick, and recent entries of this process stay readable. */

import type { Entry, EntryBody, EntryPlace } from '../../core/event.ts';
import { journalEntriesMax } from '../../core/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PendingEntry, Transaction } from '../../ports/store.ts';
import type { KnownState } from './known-state.ts';

/** The journal of one process. */
export interface Journal {
  append(body: EntryBody, place: EntryPlace, atMs: number): Entry;
  tail(fromSeq: number): readonly Entry[];
  /** Returns the transaction with a callback that keeps its entries readable in this process. */
  withLocalCopy(transaction: Transaction): Transaction;
  /** The number of entries that are not sent yet. */
  readonly waiting: number;
}

/** Creates the journal of one process; `send` commits its transactions. */
export function createJournal(memory: KnownState, clock: Clock, send: (transaction: Transaction) => unknown): Journal {
  let unsent: PendingEntry[] = [];
  let recentEntries: Entry[] = [];

  function remember(entry: Entry): void {
    recentEntries.push(entry);
    if (recentEntries.length >= 2 * journalEntriesMax) recentEntries = recentEntries.slice(-journalEntriesMax);
  }

  function write(): void {
    const all = unsent;
    unsent = [];
    send({ entries: all, queueIfUnavailable: true });
  }

  return {
    append(body, place, atMs) {
      if (unsent.length === 0) setImmediate(write);
      unsent.push({ body, place, atMs });
      memory.seq++;
      const entry = { seq: memory.seq, atMs, wallMs: clock.wallMs(), ...place, ...body } as Entry;
      remember(entry);
      return entry;
    },
    tail: (fromSeq) => recentEntries.slice(-journalEntriesMax).filter(({ seq }) => seq >= fromSeq),
    withLocalCopy(transaction) {
      const onCommitted = (written: readonly Entry[]) => {
        written.forEach(remember);
        transaction.onCommitted?.(written);
      };
      return transaction.onCommitted === undefined ? transaction : { ...transaction, onCommitted };
    },
    get waiting() {
      return unsent.length;
    },
  };
}
