/** The door `switchgear/stores/sharing`: what every shared store offers on top of its two doors, made for it. */

import type { Clock } from '../ports/clock.ts';
import type { Deal, Dealt, Shared, Store } from '../ports/store.ts';
import { shareBreakers } from './breaker-sharing.ts';
import { createLeases } from './leases.ts';
import { enlist, ordersOf } from './orders.ts';
import { shareWorkers } from './worker-sharing.ts';

/** A store as far as sharing needs it. */
export interface SharingOptions {
  readonly process: string;
  readonly clock: Clock;
  readonly cell: Store['cell'];
  now(deal: Deal): Dealt;
  soon(deal: Deal): Promise<Dealt>;
  sum(key: string): number;
}

export interface Sharing extends Pick<Shared, 'breakers' | 'workers' | 'lease' | 'orders'> {
  /** Gives back what is leased; to be called before the store is closed. */
  giveBack(): void;
}

/** Breakers and counts of workers in common, leases of sums, and orders of an operator: all of it is deals. */
export function createSharing(options: SharingOptions): Sharing {
  const { lease, closeAll } = createLeases(options);
  return {
    breakers: shareBreakers(options),
    workers: shareWorkers(options),
    lease,
    orders: (hands) => enlist(ordersOf(options), hands),
    giveBack: closeAll,
  };
}
