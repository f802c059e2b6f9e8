/** Builds the shared breakers, rule counts, worker counts and orders of a store from its transactions. */

import type { Clock } from '../ports/clock.ts';
import type { ProcessCounters } from '../ports/process-counters.ts';
import type { SharedStore, Store, StoreHealth, Transaction, TransactionResult, WindowCount } from '../ports/store.ts';
import { ordersCell, subscribeToOrdersCell } from './operator-orders.ts';
import { createProcessCounters } from './process-counters.ts';
import { publishTasks } from './published-tasks.ts';
import { shareBreakers } from './shared-breaker.ts';
import { shareRules } from './shared-rules.ts';
import { shareWorkers } from './shared-workers.ts';

/** The part of a store that coordination uses. */
export interface SharingOptions {
  readonly process: string;
  readonly clock: Clock;
  readonly cell: Store['cell'];
  /** Whether the store answers; after five seconds without an answer a process grants itself probes. */
  health(): StoreHealth;
  commitNow(transaction: Transaction): TransactionResult;
  commit(transaction: Transaction): Promise<TransactionResult>;
  windowCount(key: string, atMs: number, keepMs: number): WindowCount;
}

/** The members of a `SharedStore` that `createSharing` builds. */
export interface Sharing extends Pick<SharedStore, 'breakers' | 'workers' | 'rules' | 'subscribeToOrders'> {
  readonly publishTasks: NonNullable<SharedStore['publishTasks']>;
  readonly counters: ProcessCounters;
}

/** Builds shared breakers, worker counts, rule counts, operator orders and task publishing from transactions alone. */
export function createSharing(options: SharingOptions): Sharing {
  return {
    breakers: shareBreakers(options),
    workers: shareWorkers(options),
    rules: shareRules(options),
    subscribeToOrders: (gear) => subscribeToOrdersCell(ordersCell(options), gear),
    publishTasks,
    counters: createProcessCounters(options),
  };
}
