/** Reads what the journal has about one task and the tasks below it. */

import type { Entry } from '../core/event.ts';
import { storedEntriesMax } from '../core/limits.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import type { TaskFamily } from './board/task-families.ts';
import { readJournalEntries } from './journal.ts';

const pageSize = 1_000;

/** A part of the timeline of a task. */
export interface TimelinePage {
  readonly entries: readonly Entry[];
  /** The number after which the next page begins; absent at the end of the journal. */
  readonly next?: number;
}

/** Reads the entries of a task and of the tasks below it after a sequence number, oldest first. */
export async function readTimeline(
  { shared }: CrossProcessStore,
  { ids, firstSeq }: TaskFamily,
  after: number,
  limit: number,
): Promise<TimelinePage> {
  const entries: Entry[] = [];
  let last = Math.max(after, firstSeq - 1);
  for (let read = 0; read < storedEntriesMax; ) {
    const page = await readJournalEntries(shared, last + 1, pageSize);
    if (page.length === 0) break;
    for (const entry of page) {
      last = entry.seq;
      if (entry.task === undefined || !ids.has(entry.task)) continue;
      entries.push(entry);
      if (entries.length >= limit) return { entries, next: last };
    }
    read += page.length;
  }
  return { entries };
}
