/** Tracks transactions that were in flight when the connection was lost, until the store says which it executed. */

import { queuedTransactionsMax } from '../../core/limits.ts';
import type { PendingEntry, Transaction } from '../../ports/store.ts';

/** A sent transaction or batch, with the number under which the server records it. */
export interface SentTransaction {
  readonly number: number;
  readonly parts: readonly Transaction[];
  readonly entries: readonly PendingEntry[];
}

/** The transactions without a reply. */
export interface Unconfirmed {
  /** The transactions that were sent on the current connection and have no reply yet. */
  readonly inFlight: Set<SentTransaction>;
  connectionLost(): void;
  /** Returns the transactions of the previous connection that the store executed. */
  reconnected(done: ReadonlySet<number>): readonly SentTransaction[];
  /** Returns the same transactions again, once the views have them. */
  viewsCaughtUp(): readonly SentTransaction[];
}

/** Creates an empty record of transactions. */
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
