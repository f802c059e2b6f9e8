/** Reads the state of a store now: breakers, tasks, budgets, orders and open cards of every process on it. */

import { activeOrders, noOrders, type Orders, ordersCell } from '../coordination/operator-orders.ts';
import type { Card } from '../core/card.ts';
import type { CrossProcessStore, StoreHealth } from '../ports/store.ts';
import { closeLostRuns } from '../supervisor/lost-runs.ts';
import type { OperatorTask, StoredBreaker } from './board/answers.ts';
import type { ReadRecentEntries } from './board/recent-entries.ts';
import { readStoredBreakers, withLastErrors } from './breakers.ts';
import { readStoredBudgets, type StoredBudget } from './budgets.ts';
import { listTasks } from './tasks.ts';

const cardsShown = 1_000;

/** The state of a store now. */
export interface StoreStatus {
  readonly store: string;
  readonly health: StoreHealth;
  /** The current time of the store. */
  readonly atMs: number;
  readonly breakers: readonly StoredBreaker[];
  readonly tasks: readonly OperatorTask[];
  readonly budgets: readonly StoredBudget[];
  readonly orders: Orders;
  readonly cards: readonly Card[];
}

/** The state of a store that does not exist yet. */
export function makeEmptyStatus(store: string): StoreStatus {
  const health = { state: 'shared', reason: 'the store does not exist yet' } as const;
  return { store, health, atMs: 0, breakers: [], tasks: [], budgets: [], orders: noOrders, cards: [] };
}

/** Reads the state of a store with this name; reports tasks and runs whose process is gone, once. */
export async function readStatus(store: CrossProcessStore, name: string): Promise<StoreStatus> {
  const { shared, clock } = store;
  const tasks = await readAllTasks(store);
  const breakers = await withLastErrors(store, await readStoredBreakers(store));
  const budgets = await readStoredBudgets(store);
  const cards = (await shared.read('card/', cardsShown)).map(({ state }) => state as Card);
  return {
    store: name,
    health: shared.health,
    atMs: clock.nowMs(),
    breakers,
    tasks,
    budgets,
    orders: readOrders(store),
    cards: cards.filter((card) => card?.state === 'open'),
  };
}

/** Lists all tasks, and first closes runs whose process is gone. */
export async function readAllTasks(
  store: CrossProcessStore,
  readEntries?: ReadRecentEntries,
): Promise<readonly OperatorTask[]> {
  await closeLostRuns(store);
  return listTasks(store, readEntries);
}

/** The orders in force. */
export function readOrders(store: CrossProcessStore): Orders {
  const atMs = store.clock.nowMs();
  const { halts, trips, ...others } = ordersCell(store).state;
  return { ...others, halts: activeOrders(halts, atMs), trips: activeOrders(trips, atMs) };
}
