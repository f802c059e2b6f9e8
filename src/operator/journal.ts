/** Reads the journal of a store from its end, in pages. */

import type { Entry } from '../core/event.ts';
import type { SharedStore } from '../ports/store.ts';

const pageSize = 1_000;

/** Finds the number of the last entry by bisection; returns 0 for an empty journal, and throws if it cannot be read. */
export async function findLastSeq(shared: SharedStore): Promise<number> {
  const isBeyond = async (seq: number) => (await shared.entries(seq, 1)).length === 0;
  let beyond = 1;
  while (!(await isBeyond(beyond))) beyond *= 2;
  let last = Math.floor(beyond / 2);
  while (beyond - last > 1) {
    const middle = Math.floor((last + beyond) / 2);
    if (await isBeyond(middle)) beyond = middle;
    else last = middle;
  }
  return last;
}

/** Reads entries from a sequence number on, at most `limit`. */
export async function readJournalEntries(
  shared: SharedStore,
  fromSeq: number,
  limit: number,
): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  while (entries.length < limit) {
    const from = (entries.at(-1)?.seq ?? fromSeq - 1) + 1;
    const page = await shared.entries(from, Math.min(pageSize, limit - entries.length));
    entries.push(...page);
    if (page.length === 0) break;
  }
  return entries;
}

/** As `readNewestEntries`, for views that have their state from cells: none if the journal cannot be read. */
export function readNewestIfPossible(shared: SharedStore, limit: number): Promise<readonly Entry[]> {
  return readNewestEntries(shared, limit).catch(() => []);
}

/** Reads the newest entries, oldest first. */
export async function readNewestEntries(shared: SharedStore, limit: number): Promise<readonly Entry[]> {
  const last = await findLastSeq(shared);
  return last === 0 ? [] : readJournalEntries(shared, Math.max(1, last - limit + 1), limit);
}
