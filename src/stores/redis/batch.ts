/** Deals that were kept while the store was away, delivered many at once. */

import type { Entry } from '../../core/event.ts';
import type { Change, Next, Note, Transaction } from '../../ports/store.ts';

/** Several deals that must arrive, as one: nothing can be against what has happened. */
export function together(transactions: readonly Transaction[]): Transaction {
  return {
    changes: transactions.flatMap((transaction) => {
      const { changes = [] } = transaction;
      return changes.map(({ cell, step }, at) => ({
        cell,
        step: (state: unknown) => unopposed(transaction, at, step, state),
      }));
    }),
    sums: transactions.flatMap(({ sums = [] }) => sums.map(({ key, amount }) => ({ key, amount }))),
    marks: transactions.flatMap(({ marks = [] }) => marks.map(({ most: _, ...mark }) => mark)),
    notes: transactions.flatMap((transaction) => (saidBefore.has(transaction) ? [] : (transaction.notes ?? []))),
    queueIfUnavailable: true,
  };
}

/** Deals whose notes are in the journal already, although they are not in the store. */
const saidBefore = new WeakSet<Transaction>();

/** Lets the notes of a deal go ahead of it, once: they are not written again with it. False where they did already. */
export function sayAhead(transaction: Transaction): boolean {
  if (saidBefore.has(transaction)) return false;
  saidBefore.add(transaction);
  return true;
}

/** What the parts of a batch said when it was planned last. */
const writtenOf = new WeakMap<Transaction, readonly Note[]>();

function unopposed(transaction: Transaction, at: number, step: Change['step'], state: unknown): Next<unknown> {
  try {
    const next = step(state);
    const notes = typeof next === 'object' ? (next.notes ?? []) : [];
    if (saidBefore.has(transaction) && typeof next === 'object') return { state: next.state };
    writtenOf.set(transaction, at === 0 ? notes : [...(writtenOf.get(transaction) ?? []), ...notes]);
    return next === 'refuse' ? 'keep' : next;
  } catch {
    return 'keep'; // It would throw for its own caller, too.
  }
}

/** What was written into the journal at once, and the number of the last of it. */
export interface Numbered {
  readonly notes: readonly Note[];
  readonly lastSeq: number;
  readonly wallMs: number;
}

/** What a deal that was carried out, alone or in a batch, wrote into the journal. */
export function entriesOf(
  transaction: Transaction,
  alone: boolean,
  { notes, lastSeq, wallMs }: Numbered,
): readonly Entry[] {
  const own = alone
    ? notes
    : saidBefore.has(transaction)
      ? []
      : [...(writtenOf.get(transaction) ?? []), ...(transaction.notes ?? [])];
  return own.map((note) => {
    const seq = lastSeq + 1 - notes.length + notes.indexOf(note);
    return { seq, atMs: note.atMs, wallMs, ...note.place, ...note.body } as Entry;
  });
}
