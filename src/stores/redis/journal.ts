/** The journal of a store on Redis: entries go out once a tick, and this process can read its own again. */

import type { Entry, EntryBody, EntryPlace } from '../../core/event.ts';
import { journalEntriesMax } from '../../core/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Note, Transaction } from '../../ports/store.ts';
import type { Memory } from './known-state.ts';

export interface Journal {
  append(body: EntryBody, place: EntryPlace, atMs: number): Entry;
  tail(fromSeq: number): readonly Entry[];
  /** The deal, whose entries this process can read again. */
  remembered(transaction: Transaction): Transaction;
  /** Entries that are on their way. */
  readonly waiting: number;
}

export function createJournal(memory: Memory, clock: Clock, send: (transaction: Transaction) => unknown): Journal {
  let notes: Note[] = [];
  let entries: Entry[] = [];

  function remember(entry: Entry): void {
    entries.push(entry);
    if (entries.length >= 2 * journalEntriesMax) entries = entries.slice(-journalEntriesMax);
  }

  function write(): void {
    const all = notes;
    notes = [];
    send({ notes: all, queueIfUnavailable: true });
  }

  return {
    append(body, place, atMs) {
      if (notes.length === 0) setImmediate(write);
      notes.push({ body, place, atMs });
      memory.seq++;
      const entry = { seq: memory.seq, atMs, wallMs: clock.wallMs(), ...place, ...body } as Entry;
      remember(entry);
      return entry;
    },
    tail: (fromSeq) => entries.slice(-journalEntriesMax).filter(({ seq }) => seq >= fromSeq),
    remembered(transaction) {
      const onCommitted = (written: readonly Entry[]) => {
        written.forEach(remember);
        transaction.onCommitted?.(written);
      };
      return transaction.onCommitted === undefined ? transaction : { ...transaction, onCommitted };
    },
    get waiting() {
      return notes.length;
    },
  };
}
