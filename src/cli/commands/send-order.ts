/** How a command changes a store: in deals that name who gave the order, tried until they are in. */

import { userName } from '../../approvers/user-name.ts';
import { activeOrders, type Orders, ordersCell } from '../../coordination/operator-orders.ts';
import { SwitchgearError } from '../../core/error.ts';
import type { EntryBody } from '../../core/event.ts';
import { ordersMax, reasonLengthMax } from '../../core/limits.ts';
import type { Change, CrossProcessStore, PendingEntry } from '../../ports/store.ts';
import { type ParsedArgs, usageError } from '../command.ts';
import { type StoreAddress, storeWriteError } from '../store-option.ts';

export type OrderEntry = Extract<EntryBody, { readonly type: 'order-given' }>;

/** The task or tool that is meant: one word, or `--all`, which is null. */
export function parseOrderTarget({ positionals, switches }: ParsedArgs, noun: string): string | null {
  const [target] = positionals;
  if (switches.has('--all')) {
    if (target !== undefined) throw usageError(`say ${noun} or --all, not both`);
    return null;
  }
  if (target === undefined || target === '') throw usageError(`say ${noun} or --all`);
  return target;
}

export function parseOrderReason({ values }: ParsedArgs): string {
  return (values.get('--reason') ?? '').slice(0, reasonLengthMax);
}

/** The entry that says who wanted what. */
export function makeOrderEntry(order: OrderEntry['order'], target: string | null, reason: string): OrderEntry {
  return { type: 'order-given', order, target, reason, by: userName() };
}

/** Changes the orders of a store, with other cells in the same deal; false where there was nothing to change. */
export async function sendOrder(
  store: CrossProcessStore,
  address: StoreAddress,
  body: OrderEntry | undefined,
  change: (orders: Orders, atMs: number) => Orders | undefined,
  otherChanges: readonly Change[] = [],
): Promise<boolean> {
  const atMs = store.clock.nowMs();
  const notes: readonly PendingEntry[] = body === undefined ? [] : [{ body, place: {}, atMs }];
  let isFull = false;
  const orders: Change<Orders> = {
    cell: ordersCell(store),
    update(state) {
      const next = change(
        { ...state, halts: activeOrders(state.halts, atMs), trips: activeOrders(state.trips, atMs) },
        atMs,
      );
      isFull = next !== undefined && next.pauses.length > ordersMax;
      if (isFull) return 'refuse'; // One that is paused must not go on because others are, too.
      if (next === undefined) return otherChanges.length > 0 ? 'keep' : 'refuse';
      return { state: { ...next, halts: next.halts.slice(-ordersMax), trips: next.trips.slice(-ordersMax) } };
    },
  };
  const result = await store.shared.commit({ changes: [orders as Change, ...otherChanges], entries: notes });
  if (result.status === 'committed') return true;
  if (isFull) throw new SwitchgearError('orders_full', `${ordersMax} tasks are paused one by one: use pause --all`);
  if (result.status === 'rejected' && result.by === 'cell') return false;
  throw storeWriteError(address, result.status === 'unavailable' ? result.reason : 'it is full');
}
