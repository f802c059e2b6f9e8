/** Queues transactions that a full file rejects; they count in this process until the file has room. */

import { queuedTransactionsMax } from '../../core/limits.ts';
import type { Transaction, TransactionResult } from '../../ports/store.ts';
import type { Views } from '../cells/cell-views.ts';
import type { HealthMonitor } from '../cells/store-health.ts';
import { applyHere, type Rejected } from '../cells/transaction-plan.ts';

/** The queue of transactions that found the file full. */
export interface FileOverflow {
  /** Returns the result of a transaction on a cell that found the file full; undefined if it may be tried. */
  findFullCell(transaction: Transaction): TransactionResult | undefined;
  /** Queues a rejected transaction with `queueIfUnavailable`; returns the final result. */
  queueIfFull(transaction: Transaction, result: TransactionResult): TransactionResult;
  /** Removes and returns all queued transactions. */
  takeQueued(): readonly Transaction[];
  readonly hasQueued: boolean;
}

const reason =
  'the store is full: there are as many cells as keysMax says, and what is new counts in this process alone; ' +
  'raise keysMax, or use another file';

/** Creates an empty queue. */
export function createFileOverflow(views: Views, monitor: HealthMonitor): FileOverflow {
  const queued = new Set<Transaction>();
  const keys = new Set<string>();

  return {
    findFullCell(transaction) {
      if (keys.size === 0) return undefined;
      const key = transaction.changes?.find(({ cell }) => keys.has(cell.key))?.cell.key;
      if (key === undefined) return undefined;
      return transaction.queueIfUnavailable === true
        ? { status: 'rejected', by: 'full', key }
        : { status: 'unavailable', reason };
    },
    queueIfFull(transaction, result) {
      if (transaction.queueIfUnavailable !== true || !isFull(result)) return result;
      applyHere(transaction, views);
      keys.add(result.key);
      queued.add(transaction);
      if (queued.size > queuedTransactionsMax) queued.delete(queued.values().next().value!);
      monitor.degrade(reason);
      return { status: 'queued' };
    },
    takeQueued() {
      const all = [...queued];
      queued.clear();
      keys.clear();
      return all;
    },
    get hasQueued() {
      return queued.size > 0;
    },
  };
}

function isFull(result: TransactionResult): result is Rejected {
  return result.status === 'rejected' && result.by === 'full';
}
