/** Makes breakers, rules, workers, leases and orders of a shared store out of its transactions. */

import type { Clock } from '../ports/clock.ts';
import type { SharedStore, Store, StoreHealth, Transaction, TransactionResult, WindowCount } from '../ports/store.ts';
import { createLeases } from './leases.ts';
import { ordersCell, subscribeToOrdersCell } from './operator-orders.ts';
import { publishTasks } from './published-tasks.ts';
import { shareBreakers } from './shared-breaker.ts';
import { shareRules } from './shared-rules.ts';
import { shareWorkers } from './shared-workers.ts';

/** A store as far as sharing needs it. */
export interface SharingOptions {
  readonly process: string;
  readonly clock: Clock;
  readonly cell: Store['cell'];
  /** Whether the store answers: what only it may grant, a process grants itself after a while without it. */
  health(): StoreHealth;
  commitNow(transaction: Transaction): TransactionResult;
  commit(transaction: Transaction): Promise<TransactionResult>;
  counter(key: string): number;
  windowCount(key: string, atMs: number, keepMs: number): WindowCount;
}

export interface Sharing extends Pick<SharedStore, 'breakers' | 'workers' | 'rules' | 'lease' | 'subscribeToOrders'> {
  readonly publishTasks: NonNullable<SharedStore['publishTasks']>;
  /** Gives back what is leased; to be called before the store is closed. */
  giveBack(): void;
}

/** Breakers and counts of workers in common, leases of sums, and orders of an operator: all of it is deals. */
export function createSharing(options: SharingOptions): Sharing {
  const { lease, closeAll } = createLeases(options);
  return {
    breakers: shareBreakers(options),
    workers: shareWorkers(options),
    rules: shareRules(options),
    lease,
    subscribeToOrders: (gear) => subscribeToOrdersCell(ordersCell(options), gear),
    publishTasks,
    giveBack: closeAll,
  };
}
