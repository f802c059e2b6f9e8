/** Deals that were kept while the store was away, delivered many at once. */

import type { Entry } from '../../core/event.ts';
import type { CellUpdate, Change, PendingEntry, Transaction } from '../../ports/store.ts';

/** Several deals that must arrive, as one: nothing can be against what has happened. */
export function mergeTransactions(transactions: readonly Transaction[]): Transaction {
  return {
    changes: transactions.flatMap((transaction) => {
      const { changes = [] } = transaction;
      return changes.map(({ cell, update }, at) => ({
        cell,
        update: (state: unknown) => updateUnopposed(transaction, at, update, state),
      }));
    }),
    adds: transactions.flatMap(({ adds = [] }) => adds.map(({ key, amount }) => ({ key, amount }))),
    marks: transactions.flatMap(({ marks = [] }) => marks.map(({ most: _, ...mark }) => mark)),
    entries: transactions.flatMap((transaction) => (journaled.has(transaction) ? [] : (transaction.entries ?? []))),
    queueIfUnavailable: true,
  };
}

/** Deals whose notes are in the journal already, although they are not in the store. */
const journaled = new WeakSet<Transaction>();

/** Lets the notes of a deal go ahead of it, once: they are not written again with it. False where they did already. */
export function markJournaled(transaction: Transaction): boolean {
  if (journaled.has(transaction)) return false;
  journaled.add(transaction);
  return true;
}

/** What the parts of a batch said when it was planned last. */
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
    return 'keep'; // It would throw for its own caller, too.
  }
}

/** What was written into the journal at once, and the number of the last of it. */
export interface NumberedEntries {
  readonly entries: readonly PendingEntry[];
  readonly lastSeq: number;
  readonly wallMs: number;
}

/** What a deal that was carried out, alone or in a batch, wrote into the journal. */
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
