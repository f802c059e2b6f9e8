/** Queues transactions that a full store rejects; they count in this process, write their entries and are retried. */

import { queuedTransactionsMax } from '../../core/limits.ts';
import type { Transaction, TransactionResult } from '../../ports/store.ts';
import { entriesAppliedHere } from '../cells/transaction-plan.ts';
import { markJournaled, mergeTransactions } from './batch.ts';

/** The queue of transactions that found the store full. */
export interface RedisOverflow {
  /** Returns the key of a cell of the transaction that found the store full before. */
  findFullCell(transaction: Transaction): string | undefined;
  /** Queues a transaction whose cell found the store full. */
  add(key: string, transaction: Transaction): void;
  /** Retries the queue cell by cell until the store is full again. */
  retry(): Promise<void>;
  /** The number of queued transactions. */
  readonly size: number;
}

/** The options of `createRedisOverflow`. */
export interface RedisOverflowOptions {
  attempt(transaction: Transaction, counted?: boolean, parts?: readonly Transaction[]): Promise<TransactionResult>;
  /** Called when the store becomes full, or has room again. */
  onFullChange(isFull: boolean): void;
}

/** Creates an empty queue. */
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
      size -= oldestTransactions.length; // Over the limit, the cell that waits longest is dropped.
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
      // The journal has room, so the entries are written before the cell.
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
          // Other rejections mean that the cell was dropped.
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
