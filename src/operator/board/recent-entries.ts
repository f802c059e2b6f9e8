/** Keeps the newest entries of a journal, so that a page that looks every second reads only what is new. */

import type { Entry } from '../../core/event.ts';
import { journalEntriesMax } from '../../core/limits.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { findLastSeq, readJournalEntries } from '../journal.ts';

/** Reads the newest entries, oldest first. */
export type ReadRecentEntries = () => Promise<readonly Entry[]>;

/** Creates a reader of the newest 10,000 entries; each call reads only the entries since the last one. */
export function createRecentEntries({ shared }: CrossProcessStore): ReadRecentEntries {
  let entries: readonly Entry[] = [];
  let last: number | undefined;
  let reading: Promise<readonly Entry[]> | undefined;

  async function read(): Promise<readonly Entry[]> {
    // A journal that ends before the last entry is another one: its store was lost or replaced.
    const isReplaced = last !== undefined && last > 0 && (await shared.entries(last, 1)).length === 0;
    if (last === undefined || isReplaced) {
      last = Math.max(0, (await findLastSeq(shared)) - journalEntriesMax);
      entries = [];
    }
    const added = await readJournalEntries(shared, last + 1, journalEntriesMax);
    if (added.length > 0) {
      last = added.at(-1)!.seq;
      entries = [...entries, ...added].slice(-journalEntriesMax);
    }
    return entries;
  }

  return () => {
    // While the journal cannot be read, the known entries stay.
    reading ??= read()
      .catch(() => entries)
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
}
