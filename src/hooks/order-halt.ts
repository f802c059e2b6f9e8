/** Has the run around a hook end its agent: one that a hook halted ends by itself as if all were well. */

import { ordersMax, reasonLengthMax } from '../core/limits.ts';
import type { Change, Shared, Store } from '../ports/store.ts';
import { type Orders, ordersOf, standing, withOrder } from '../stores/orders.ts';

export async function orderHalt(
  store: Store & { readonly shared: Shared },
  target: string,
  words: string,
): Promise<void> {
  const atMs = store.clock.nowMs();
  const reason = words.slice(0, reasonLengthMax);
  const step = (orders: Orders) => {
    const halts = standing(orders.halts, atMs);
    if (halts.some((order) => order.target === target)) return 'refuse' as const; // It was told.
    return { state: { ...orders, halts: withOrder(halts, { target, atMs, reason }).slice(-ordersMax) } };
  };
  const change = { cell: ordersOf(store), step } as unknown as Change;
  const body = { type: 'order-given', order: 'halt', target, reason, by: 'switchgear hook' } as const;
  await store.shared.soon({ changes: [change], notes: [{ body, place: {}, atMs }] });
}
