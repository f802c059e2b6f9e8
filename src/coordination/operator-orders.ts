/** Orders of an operator: one small cell that every gear on the store looks at, and what a gear does about it. */

import { openBreaker } from '../core/controls/breaker/phases.ts';
import { orderKeepMs } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import { type ApplyOrders, type OrderedCall, type OrderedTask, type OrderTarget, ordersKey } from '../ports/orders.ts';
import type { Cell, Store } from '../ports/store.ts';

/** One order. */
export interface Order {
  /** The task or tool; null = all of them. */
  readonly target: string | null;
  readonly atMs: number;
  readonly reason: string;
  /** Until when it stands; absent where somebody has to take it back. */
  readonly untilMs?: number;
}

/** What is ordered now. Halts concern the tasks that had begun, pauses and trips also those that come. */
export interface Orders {
  readonly halts: readonly Order[];
  readonly pauses: readonly Order[];
  readonly trips: readonly Order[];
}

export const noOrders: Orders = { halts: [], pauses: [], trips: [] };
export function ordersCell(store: Pick<Store, 'cell'>): Cell<Orders> {
  return store.cell(ordersKey, () => noOrders);
}

/** The list with one more, instead of an earlier one for the same target. */
export function withOrder(list: readonly Order[], order: Order): readonly Order[] {
  return [...withoutTarget(list, order.target), order];
}

export function withoutTarget(list: readonly Order[], target: string | null): readonly Order[] {
  return list.filter((order) => order.target !== target);
}

/** What is left of a list after its time. */
export function activeOrders(list: readonly Order[], atMs: number): readonly Order[] {
  return list.filter(({ untilMs, atMs: since }) => atMs < (untilMs ?? since + orderKeepMs));
}

/** How a gear obeys: nothing to do costs the comparison of two numbers. */
export function subscribeToOrdersCell<T extends OrderedTask>(cell: Cell<Orders>, gear: OrderTarget<T>): ApplyOrders {
  let seenVersion = 0;
  const pausedTasks = new WeakSet<OrderedTask>();

  /** Lets a task stand still or go on, as the pauses of it and of those above it say. */
  function applyPause(task: T): Stop | undefined {
    const { pauses } = cell.state;
    const order = pauses.length === 0 ? undefined : pauses.find(({ target }) => isTargeted(task, target));
    if (order !== undefined && !pausedTasks.has(task)) {
      pausedTasks.add(task);
      gear.pause(task);
    } else if (order === undefined && pausedTasks.delete(task)) gear.resume(task);
    return order && pausedStop(order);
  }

  function applyHaltsAndPauses(): void {
    const { halts } = cell.state;
    for (const task of gear.tasks.values()) {
      const { startedAtMs } = task.cells.deadline.state;
      const order = halts.find(({ target, atMs }) => (target ?? task.id) === task.id && startedAtMs <= atMs);
      if (order !== undefined) gear.halt(task, order.reason);
      else applyPause(task);
    }
  }

  return (atMs, call) => {
    if (cell.version !== seenVersion) {
      seenVersion = cell.version;
      applyHaltsAndPauses();
    }
    if (call === undefined) return undefined;
    const { pauses, trips } = cell.state;
    if (trips.length > 0) applyTrip(call, trips, atMs);
    if (pauses.length === 0) return undefined;
    if (call.task !== undefined) return applyPause(call.task as T);
    const order = pauses.find(({ target }) => target === null);
    return order && pausedStop(order);
  };
}

function isTargeted(task: OrderedTask, target: string | null): boolean {
  for (let ancestor: OrderedTask | undefined = task; ancestor !== undefined; ancestor = ancestor.parent) {
    if (target === null || target === ancestor.id) return true;
  }
  return false;
}

function pausedStop({ reason }: Order): Stop {
  return { kind: 'deny', code: 'task_paused', control: 'operator', counters: {}, reason };
}

/** Opens a breaker that was not there when its name was tripped. One that opened since has heard of it. */
function applyTrip({ breaker }: OrderedCall, trips: readonly Order[], atMs: number): void {
  const order = breaker && activeOrders(trips, atMs).find(({ target }) => target === breaker.name);
  if (order === undefined) return;
  const { cell, settings, control } = breaker!;
  if (cell.state.openedAtMs >= order.atMs) return;
  control.change?.((state) => {
    if (state.openedAtMs < order.atMs)
      openBreaker(state, openSettingsUntil(settings, order, atMs), atMs, manualTripCause, order.untilMs);
  }, atMs);
}

/** The cause that a trip by hand has in the journal. */
export const manualTripCause = 'a trip by hand';

/** Settings with which a breaker opens until the end of an order and no longer. */
export function openSettingsUntil<S extends { readonly recoveryTimeoutSecs: number }>(
  settings: S,
  { untilMs }: Pick<Order, 'untilMs'>,
  atMs: number,
): S {
  if (untilMs === undefined) return settings;
  const recoveryTimeoutSecs = Math.max(0, untilMs - atMs) / 1000;
  return { ...settings, recovery: 'timed', recoveryTimeoutSecs, recoveryFactor: 1, recoveryJitter: 0 };
}
