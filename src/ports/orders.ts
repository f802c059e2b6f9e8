/** The interface between operator orders and the gear that applies them. */

import type { Control } from '../core/control.ts';
import type { BreakerState } from '../core/controls/breaker/state.ts';
import type { BreakerSettings } from '../core/settings.ts';
import type { Stop } from '../core/verdict.ts';
import type { SharedBreaker } from './sharing.ts';
import type { Cell } from './store.ts';

/** The key of the cell that holds an operator's orders. */
export const ordersKey = 'orders';

/** The part of a task that orders use. */
export interface OrderedTask {
  readonly id: string;
  readonly parent: OrderedTask | undefined;
  readonly cells: { readonly deadline: { readonly state: { readonly startedAtMs: number } } };
  /** The time from which orders concern the task, if its work began before the task. */
  readonly orderedSinceMs?: number | undefined;
}

/** The part of a call that orders use, before it is judged. */
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

/** The operations of a gear that orders use. */
export interface OrderTarget<T extends OrderedTask = OrderedTask> {
  readonly tasks: ReadonlyMap<string, T>;
  halt(task: T, reason: string): void;
  pause(task: T): void;
  resume(task: T): void;
}

/** Applies the orders since the last call; returns a stop if an order stops the given call. */
export type ApplyOrders = (atMs: number, call?: OrderedCall) => Stop | undefined;
