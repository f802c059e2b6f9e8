/** Deals for which a full store has no room: they count in this process, say what they say, and are tried again. */

import { queuedTransactionsMax } from '../../core/limits.ts';
import type { Transaction, TransactionResult } from '../../ports/store.ts';
import { entriesAppliedHere } from '../cells/transaction-plan.ts';
import { sayAhead, together } from './batch.ts';

export interface Room {
  /** The cell of a deal for which there was none: it is decided here, like those before it. */
  missedBy(transaction: Transaction): string | undefined;
  /** Keeps a deal that found none for a cell. */
  miss(key: string, transaction: Transaction): void;
  /** Tries them again, cell by cell, until one finds none. */
  tryAgain(): Promise<void>;
  /** How many wait. */
  readonly size: number;
}

export interface RoomOptions {
  attempt(transaction: Transaction, counted?: boolean, parts?: readonly Transaction[]): Promise<TransactionResult>;
  /** There is none, or there is some again. */
  changed(isFull: boolean): void;
}

export function createRoom({ attempt, changed }: RoomOptions): Room {
  const missed = new Map<string, Transaction[]>();
  let size = 0;
  let trying = false;

  function put(key: string, transactions: readonly Transaction[]): void {
    const all = [...transactions, ...(missed.get(key) ?? [])].slice(-queuedTransactionsMax);
    size += all.length - (missed.get(key)?.length ?? 0);
    missed.set(key, all);
    for (const [oldest, theirs] of missed) {
      if (size <= queuedTransactionsMax) break;
      size -= theirs.length; // Of too many cells the one that waits longest goes first.
      missed.delete(oldest);
    }
  }

  return {
    missedBy: ({ changes = [] }) =>
      missed.size === 0 ? undefined : changes.find(({ cell }) => missed.has(cell.key))?.cell.key,
    miss(key, transaction) {
      if (missed.size === 0) changed(true);
      const waiting = missed.get(key) ?? [];
      missed.delete(key);
      size -= waiting.length;
      put(key, [...waiting, transaction]);
      const entries = entriesAppliedHere(transaction);
      // The journal has room: whoever reads it is not to wait for that of the cell.
      if (entries.length === 0 || !sayAhead(transaction)) return;
      void attempt({
        entries,
        queueIfUnavailable: true,
        ...(transaction.onCommitted && { onCommitted: transaction.onCommitted }),
      });
    },
    async tryAgain() {
      if (trying) return;
      trying = true;
      try {
        for (const [key, transactions] of [...missed]) {
          missed.delete(key);
          size -= transactions.length;
          const result = await attempt(together(transactions), true, transactions);
          if (result.status === 'rejected' && result.by === 'full') put(key, transactions); // Else the cell was dropped.
          if (result.status !== 'committed') return;
        }
        if (missed.size === 0) changed(false);
      } finally {
        trying = false;
      }
    },
    get size() {
      return size;
    },
  };
}
