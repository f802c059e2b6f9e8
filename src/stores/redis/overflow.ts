/** Deals for which a full store has no room: they count in this process, say what they say, and are tried again. */

import { queuedTransactionsMax } from '../../core/limits.ts';
import type { Transaction, TransactionResult } from '../../ports/store.ts';
import { entriesAppliedHere } from '../cells/transaction-plan.ts';
import { markJournaled, mergeTransactions } from './batch.ts';

export interface RedisOverflow {
  /** The cell of a deal for which there was none: it is decided here, like those before it. */
  findFullCell(transaction: Transaction): string | undefined;
  /** Keeps a deal that found none for a cell. */
  add(key: string, transaction: Transaction): void;
  /** Tries them again, cell by cell, until one finds none. */
  retry(): Promise<void>;
  /** How many wait. */
  readonly size: number;
}

export interface RedisOverflowOptions {
  attempt(transaction: Transaction, counted?: boolean, parts?: readonly Transaction[]): Promise<TransactionResult>;
  /** There is none, or there is some again. */
  onFullChange(isFull: boolean): void;
}

export function createRedisOverflow({ attempt, onFullChange }: RedisOverflowOptions): RedisOverflow {
  const queued = new Map<string, Transaction[]>();
  let size = 0;
  let trying = false;

  function put(key: string, transactions: readonly Transaction[]): void {
    const all = [...transactions, ...(queued.get(key) ?? [])].slice(-queuedTransactionsMax);
    size += all.length - (queued.get(key)?.length ?? 0);
    queued.set(key, all);
    for (const [oldest, oldestTransactions] of queued) {
      if (size <= queuedTransactionsMax) break;
      size -= oldestTransactions.length; // Of too many cells the one that waits longest goes first.
      queued.delete(oldest);
    }
  }

  return {
    findFullCell: ({ changes = [] }) =>
      queued.size === 0 ? undefined : changes.find(({ cell }) => queued.has(cell.key))?.cell.key,
    add(key, transaction) {
      if (queued.size === 0) onFullChange(true);
      const waiting = queued.get(key) ?? [];
      queued.delete(key);
      size -= waiting.length;
      put(key, [...waiting, transaction]);
      const entries = entriesAppliedHere(transaction);
      // The journal has room: whoever reads it is not to wait for that of the cell.
      if (entries.length === 0 || !markJournaled(transaction)) return;
      void attempt({
        entries,
        queueIfUnavailable: true,
        ...(transaction.onCommitted && { onCommitted: transaction.onCommitted }),
      });
    },
    async retry() {
      if (trying) return;
      trying = true;
      try {
        for (const [key, transactions] of [...queued]) {
          queued.delete(key);
          size -= transactions.length;
          const result = await attempt(mergeTransactions(transactions), true, transactions);
          // Else the cell was dropped.
          if (result.status === 'rejected' && result.by === 'full') put(key, transactions);
          if (result.status !== 'committed') return;
        }
        if (queued.size === 0) onFullChange(false);
      } finally {
        trying = false;
      }
    },
    get size() {
      return size;
    },
  };
}
