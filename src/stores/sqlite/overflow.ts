/** Deals for which a file that is full has no room: they count in this process until it has some. */

import { queuedTransactionsMax } from '../../core/limits.ts';
import type { Transaction, TransactionResult } from '../../ports/store.ts';
import type { Views } from '../cells/cell-views.ts';
import type { HealthMonitor } from '../cells/store-health.ts';
import { countHere, type Refused } from '../cells/transaction-plan.ts';

export interface FileRoom {
  /** What a deal comes to on a cell for which there is no room; undefined where it may be tried. */
  without(transaction: Transaction): TransactionResult | undefined;
  /** The deal as it ended; one that has happened and finds no room is kept. */
  ended(transaction: Transaction, result: TransactionResult): TransactionResult;
  /** Hands out all that is kept, to be tried again. */
  again(): readonly Transaction[];
  readonly isMissed: boolean;
}

const reason =
  'the store is full: there are as many cells as keysMax says, and what is new counts in this process alone; ' +
  'raise keysMax, or use another file';

export function createFileRoom(views: Views, monitor: HealthMonitor): FileRoom {
  const missed = new Set<Transaction>();
  const keys = new Set<string>();

  return {
    without(transaction) {
      if (keys.size === 0) return undefined;
      const key = transaction.changes?.find(({ cell }) => keys.has(cell.key))?.cell.key;
      if (key === undefined) return undefined;
      return transaction.queueIfUnavailable === true
        ? { status: 'rejected', by: 'full', key }
        : { status: 'unavailable', reason };
    },
    ended(transaction, result) {
      if (transaction.queueIfUnavailable !== true || !isFull(result)) return result;
      countHere(transaction, views);
      keys.add(result.key);
      missed.add(transaction);
      if (missed.size > queuedTransactionsMax) missed.delete(missed.values().next().value!);
      monitor.degrade(reason);
      return { status: 'queued' };
    },
    again() {
      const all = [...missed];
      missed.clear();
      keys.clear();
      return all;
    },
    get isMissed() {
      return missed.size > 0;
    },
  };
}

function isFull(result: TransactionResult): result is Refused {
  return result.status === 'rejected' && result.by === 'full';
}
