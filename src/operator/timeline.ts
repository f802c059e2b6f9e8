/** Reads what the journal has about one task and the tasks below it. */

import type { Entry } from '../core/event.ts';
import { storedEntriesMax } from '../core/limits.ts';
import type { CrossProcessStore } from '../ports/store.ts';
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
  task: string,
  after: number,
  limit: number,
): Promise<TimelinePage> {
  const tasks = new Set([task]);
  const entries: Entry[] = [];
  let last = 0;
  // From the beginning: the tasks below are known from their start.
  for (let read = 0; read < storedEntriesMax; ) {
    const page = await readJournalEntries(shared, last + 1, pageSize);
    if (page.length === 0) break;
    for (const entry of page) {
      last = entry.seq;
      if (entry.type === 'task-started' && entry.parent !== undefined && tasks.has(entry.parent) && entry.task)
        tasks.add(entry.task);
      if (last <= after || entry.task === undefined || !tasks.has(entry.task)) continue;
      entries.push(entry);
      if (entries.length >= limit) return { entries, next: last };
    }
    read += page.length;
  }
  return { entries };
}
