/** Applies operator orders (halts, pauses, trips, holds) from one cell that every gear on the store reads. */

import { handTrip, openBreaker } from '../core/controls/breaker/phases.ts';
import { orderKeepMs } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import { type ApplyOrders, type OrderedCall, type OrderedTask, type OrderTarget, ordersKey } from '../ports/orders.ts';
import type { Cell, Store } from '../ports/store.ts';

/** One order of an operator. */
export interface Order {
  /** The id of the task or the name of the tool; null = all of them. */
  readonly target: string | null;
  readonly atMs: number;
  readonly reason: string;
  /** When the order ends; absent = it stands until an operator withdraws it. */
  readonly untilMs?: number;
}

/** The current orders. Halts apply to tasks that had started before the order, the others also to later ones. */
export interface Orders {
  readonly halts: readonly Order[];
  readonly pauses: readonly Order[];
  readonly trips: readonly Order[];
  /** Tools whose breakers stay open until they are released; absent = none. */
  readonly holds?: readonly Order[];
}

/** The state of the orders cell before the first order. */
export const noOrders: Orders = { halts: [], pauses: [], trips: [] };

/** Returns the cell that holds the orders of a store. */
export function ordersCell(store: Pick<Store, 'cell'>): Cell<Orders> {
  return store.cell(ordersKey, () => noOrders);
}

/** Returns the list with one order added; it replaces an earlier order for the same target. */
export function withOrder(list: readonly Order[], order: Order): readonly Order[] {
  return [...withoutTarget(list, order.target), order];
}

/** Returns the list without the orders for a target. */
export function withoutTarget(list: readonly Order[], target: string | null): readonly Order[] {
  return list.filter((order) => order.target !== target);
}

/** Returns the orders of a list that have not ended. */
export function activeOrders(list: readonly Order[], atMs: number): readonly Order[] {
  return list.filter(({ untilMs, atMs: since }) => atMs < (untilMs ?? since + orderKeepMs));
}

/** Returns the function that applies new orders to a gear; without new orders it only compares two versions. */
export function subscribeToOrdersCell<T extends OrderedTask>(cell: Cell<Orders>, gear: OrderTarget<T>): ApplyOrders {
  let seenVersion = 0;
  const pausedTasks = new WeakSet<OrderedTask>();

  /** Pauses or resumes a task according to the pauses of the task and its ancestors. */
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
      const order = findHalt(halts, task);
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
    const { pauses, trips, holds } = cell.state;
    if (trips.length > 0) applyTrip(call, trips, atMs);
    if (holds !== undefined) applyHold(call, holds, atMs);
    if (pauses.length === 0) return undefined;
    if (call.task !== undefined) return applyPause(call.task as T);
    const order = pauses.find(({ target }) => target === null);
    return order && pausedStop(order);
  };
}

/** The order that halts a task: an order for the task or for all, given after the work of the task had begun. */
function findHalt(halts: readonly Order[], { id, cells, orderedSinceMs }: OrderedTask): Order | undefined {
  const sinceMs = orderedSinceMs ?? cells.deadline.state.startedAtMs;
  return halts.find(({ target, atMs }) => (target ?? id) === id && sinceMs <= atMs);
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

/** Opens a breaker that did not exist when its name was tripped; skips a breaker that opened after the order. */
function applyTrip({ breaker }: OrderedCall, trips: readonly Order[], atMs: number): void {
  const order = breaker && activeOrders(trips, atMs).find(({ target }) => target === breaker.name);
  if (order === undefined) return;
  const { cell, settings, control } = breaker!;
  if (cell.state.openedAtMs >= order.atMs) return;
  control.change?.((state) => {
    if (state.openedAtMs < order.atMs)
      openBreaker(state, openSettingsUntil(settings, order, atMs), atMs, handTrip, order.untilMs);
  }, atMs);
}

/** Holds a breaker that did not exist when its name was held. */
function applyHold({ breaker }: OrderedCall, holds: readonly Order[], atMs: number): void {
  if (breaker === undefined || breaker.cell.state.heldAtMs >= 0) return;
  if (!holds.some(({ target }) => target === breaker.name)) return;
  breaker.control.change?.((state) => {
    state.heldAtMs = Math.max(0, atMs);
  }, atMs);
}

/** Returns the settings with which a breaker stays open exactly until the end of an order. */
export function openSettingsUntil<S extends { readonly recoveryTimeoutSecs: number }>(
  settings: S,
  { untilMs }: Pick<Order, 'untilMs'>,
  atMs: number,
): S {
  if (untilMs === undefined) return settings;
  const recoveryTimeoutSecs = Math.max(0, untilMs - atMs) / 1000;
  return { ...settings, recovery: 'timed', recoveryTimeoutSecs, recoveryFactor: 1, recoveryJitter: 0 };
}
