/** Merges queued transactions, so that many of them are delivered at once. */

import type { Entry } from '../../core/event.ts';
import type { CellUpdate, Change, PendingEntry, Transaction } from '../../ports/store.ts';

/** Merges transactions with `queueIfUnavailable` into one; their ceilings and refusals no longer apply. */
export function mergeTransactions(transactions: readonly Transaction[]): Transaction {
  return {
    changes: transactions.flatMap((transaction) => {
      const { changes = [] } = transaction;
      return changes.map(({ cell, update }, at) => ({
        cell,
        update: (state: unknown) => updateUnopposed(transaction, at, update, state),
      }));
    }),
    adds: transactions.flatMap(({ adds = [] }) => adds.map(({ ceiling: _, ...add }) => add)),
    marks: transactions.flatMap(({ marks = [] }) => marks.map(({ most: _, ...mark }) => mark)),
    entries: transactions.flatMap((transaction) => (journaled.has(transaction) ? [] : (transaction.entries ?? []))),
    queueIfUnavailable: true,
  };
}

/** Transactions whose entries are already in the journal, although their changes are not in the store. */
const journaled = new WeakSet<Transaction>();

/** Marks the entries of a transaction as written ahead of it; returns false if they were marked before. */
export function markJournaled(transaction: Transaction): boolean {
  if (journaled.has(transaction)) return false;
  journaled.add(transaction);
  return true;
}

/** The entries of each part of a batch from its last plan. */
const plannedEntries = new WeakMap<Transaction, readonly PendingEntry[]>();

function updateUnopposed(
  transaction: Transaction,
  at: number,
  update: Change['update'],
  state: unknown,
): CellUpdate<unknown> {
  try {
    const next = update(state);
    const entries = typeof next === 'object' ? (next.entries ?? []) : [];
    if (journaled.has(transaction) && typeof next === 'object') return { state: next.state };
    plannedEntries.set(transaction, at === 0 ? entries : [...(plannedEntries.get(transaction) ?? []), ...entries]);
    return next === 'refuse' ? 'keep' : next;
  } catch {
    return 'keep'; // An update that throws leaves its cell unchanged; the rest of the batch continues.
  }
}

/** Entries that were written together, and the sequence number of the last one. */
export interface NumberedEntries {
  readonly entries: readonly PendingEntry[];
  readonly lastSeq: number;
  readonly wallMs: number;
}

/** Returns the numbered entries of a committed transaction, which was sent alone or in a batch. */
export function committedEntries(
  transaction: Transaction,
  alone: boolean,
  { entries, lastSeq, wallMs }: NumberedEntries,
): readonly Entry[] {
  const own = alone
    ? entries
    : journaled.has(transaction)
      ? []
      : [...(plannedEntries.get(transaction) ?? []), ...(transaction.entries ?? [])];
  return own.map((entry) => {
    const seq = lastSeq + 1 - entries.length + entries.indexOf(entry);
    return { seq, atMs: entry.atMs, wallMs, ...entry.place, ...entry.body } as Entry;
  });
}
