/** Describes a store: its health, its journal, and the processes that report to it. */

import { publishedTasksMax } from '../core/limits.ts';
import { ownerPrefix, type ProcessLiveness } from '../ports/published-tasks.ts';
import type { CrossProcessStore, StoreHealth } from '../ports/store.ts';
import { findLastSeq } from './journal.ts';

/** A store as a whole. */
export interface StoreSummary {
  readonly store: string;
  readonly health: StoreHealth;
  readonly atMs: number;
  /** The numbers of the first and the last entry; 0 without entries. */
  readonly journal: { readonly first: number; readonly last: number };
  /** Processes with tasks; a process reports itself until this time of the store, and renews it. */
  readonly processes: readonly { readonly id: string; readonly untilMs: number; readonly isAlive: boolean }[];
}

/** Reads the summary of a store with this name. */
export async function readStoreSummary(store: CrossProcessStore, name: string): Promise<StoreSummary> {
  const { shared, clock } = store;
  const [first] = await shared.entries(1, 1);
  const last = await findLastSeq(shared);
  const owners = await shared.read(ownerPrefix, publishedTasksMax);
  const atMs = clock.nowMs();
  const processes = owners.flatMap(({ key, state }) => {
    const { untilMs } = (state ?? {}) as Partial<ProcessLiveness>;
    return untilMs === undefined ? [] : [{ id: key.slice(ownerPrefix.length), untilMs, isAlive: untilMs > atMs }];
  });
  return { store: name, health: shared.health, atMs, journal: { first: first?.seq ?? 0, last }, processes };
}
