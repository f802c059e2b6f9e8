/** Deals that were out when the line was lost: whether they happened is known when it is back. */

import { queuedTransactionsMax } from '../../core/limits.ts';
import type { PendingEntry, Transaction } from '../../ports/store.ts';

/** A deal, or several in one, by the number under which the server notes it. */
export interface SentTransaction {
  readonly number: number;
  readonly parts: readonly Transaction[];
  readonly entries: readonly PendingEntry[];
}

export interface Unconfirmed {
  /** What is out now. */
  readonly inFlight: Set<SentTransaction>;
  connectionLost(): void;
  /** Those of the line before that were carried out. */
  reconnected(done: ReadonlySet<number>): readonly SentTransaction[];
  /** The same again, once the views show them. */
  viewsCaughtUp(): readonly SentTransaction[];
}

export function createUnconfirmed(): Unconfirmed {
  const inFlight = new Set<SentTransaction>();
  let lost: SentTransaction[] = [];
  let carried: SentTransaction[] = [];
  return {
    inFlight,
    connectionLost() {
      lost.push(...inFlight);
      if (lost.length > queuedTransactionsMax) lost = lost.slice(-queuedTransactionsMax);
    },
    reconnected(done) {
      const happened = lost.filter((sent) => done.has(sent.number));
      carried.push(...happened);
      lost = [];
      return happened;
    },
    viewsCaughtUp() {
      const happened = carried;
      carried = [];
      return happened;
    },
  };
}
