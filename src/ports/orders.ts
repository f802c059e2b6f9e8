/** What an operator says from outside, and what a gear needs to carry it out. */

import type { Control } from '../core/control.ts';
import type { BreakerState } from '../core/controls/breaker/state.ts';
import type { BreakerSettings } from '../core/settings.ts';
import type { Stop } from '../core/verdict.ts';
import type { SharedBreaker } from './sharing.ts';
import type { Cell } from './store.ts';

/** The key of the cell that holds an operator's orders. */
export const ordersKey = 'orders';

/** A task, as far as orders go. */
export interface OrderedTask {
  readonly id: string;
  readonly parent: OrderedTask | undefined;
  readonly cells: { readonly deadline: { readonly state: { readonly startedAtMs: number } } };
}

/** A call that is about to be judged, as far as orders go. */
export interface OrderedCall {
  readonly task: OrderedTask | undefined;
  readonly breaker:
    | {
        readonly name: string;
        readonly cell: Cell<BreakerState>;
        readonly settings: BreakerSettings;
        readonly control: Control<BreakerState> & Partial<Pick<SharedBreaker, 'change'>>;
      }
    | undefined;
}

/** What orders may do to a gear. */
export interface OrderTarget<T extends OrderedTask = OrderedTask> {
  readonly tasks: ReadonlyMap<string, T>;
  halt(task: T, reason: string): void;
  pause(task: T): void;
  resume(task: T): void;
}

/** Carries out what was ordered since the last look; what comes back stands against the call. */
export type ApplyOrders = (atMs: number, call?: OrderedCall) => Stop | undefined;
