/** Knows from the journal where each task begins and which tasks are below it. */

import { storedEntriesMax } from '../../core/limits.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { readJournalEntries } from '../journal.ts';

/** A task with those below it. */
export interface TaskFamily {
  readonly ids: ReadonlySet<string>;
  /** The number of the entry with which the task begins; 1 if the journal does not have it. */
  readonly firstSeq: number;
}

/** Finds a task and the tasks below it. */
export type FindTaskFamily = (task: string) => Promise<TaskFamily>;

const pageSize = 1_000;

/** Creates a reader of families; the first call reads the journal once, each later one only new entries. */
export function createTaskFamilies({ shared }: CrossProcessStore): FindTaskFamily {
  /** Parents and first entries by task, in the order of their starts. */
  const starts = new Map<string, { readonly parent: string | undefined; readonly seq: number }>();
  let last = 0;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    // A journal that ends before the last entry is another one: its store was lost or replaced.
    if (last > 0 && (await shared.entries(last, 1)).length === 0) {
      starts.clear();
      last = 0;
    }
    for (let count = 0; count < storedEntriesMax; ) {
      const page = await readJournalEntries(shared, last + 1, pageSize);
      if (page.length === 0) return;
      for (const entry of page) {
        last = entry.seq;
        if (entry.type !== 'task-started' || entry.task === undefined) continue;
        starts.delete(entry.task); // A task id that is used again refers to the later task.
        if (starts.size >= storedEntriesMax) starts.delete(starts.keys().next().value!);
        starts.set(entry.task, { parent: entry.parent, seq: entry.seq });
      }
      count += page.length;
    }
  }

  return async (task) => {
    // While the journal cannot be read, the known tasks stay.
    reading ??= read()
      .catch(() => undefined)
      .finally(() => {
        reading = undefined;
      });
    await reading;
    const ids = new Set([task]);
    for (const [id, { parent }] of starts) if (parent !== undefined && ids.has(parent)) ids.add(id);
    return { ids, firstSeq: starts.get(task)?.seq ?? 1 };
  };
}
