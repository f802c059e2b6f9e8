/** Halts, pauses and resumes tasks; ends what is left of a lost run. */

import type { CrossProcessStore } from '../ports/store.ts';
import { endLostRun } from '../supervisor/lost-runs.ts';
import type { OperatorRequest } from './authorize.ts';
import { type OrderRequest, type OrderResult, orderTasks, type TaskOrder } from './orders.ts';

/** What an order needs of the person who gives it. */
export const effectsOfOrders: Readonly<Record<TaskOrder, OperatorRequest['effect']>> = {
  halt: 'stop',
  pause: 'tighten',
  resume: 'loosen',
};

/** The effect of an order. */
export type TaskOrderResult =
  | ({ readonly status: 'ordered' } & OrderResult)
  /** The run was lost: its remaining processes were ended, except for those that survive. */
  | { readonly status: 'ended'; readonly ended: number; readonly surviving: readonly number[] };

/** Gives an order to a task or to all tasks; a halt of a lost run ends its processes. */
export async function giveTaskOrder(
  store: CrossProcessStore,
  order: TaskOrder,
  request: OrderRequest,
): Promise<TaskOrderResult> {
  const lost = order === 'halt' && request.target !== null ? await endLostRun(store, request.target) : undefined;
  if (lost === undefined) return { status: 'ordered', ...(await orderTasks(store, order, request)) };
  const { total, surviving } = lost;
  return { status: 'ended', ended: total - surviving.length, surviving };
}
