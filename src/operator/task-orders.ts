/** Halts, pauses and resumes tasks; ends what is left of a lost run. */

import { quoteValue } from '../core/quote.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import { endLostRun } from '../supervisor/lost-runs.ts';
import { type RunRecord, readStoredRun } from '../supervisor/run-record.ts';
import type { OperatorRequest } from './authorize.ts';
import { type OrderRequest, type OrderResult, orderTasks, type TaskOrder } from './orders.ts';
import { followUpOnRun } from './run-follow-up.ts';

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
  | { readonly status: 'ended'; readonly ended: number; readonly surviving: readonly number[] }
  /** The run was paused in the inbox: its card was answered, and the caller starts the agent again. */
  | { readonly status: 'to-resume'; readonly run: RunRecord };

/** The message for an order to one task that no process runs; undefined for any other order. */
export function describeUnknownTask(
  order: TaskOrder,
  target: string | null,
  { acknowledged, silent }: OrderResult,
): string | undefined {
  if (order === 'resume' || target === null || acknowledged.length + silent.length > 0) return undefined;
  return `no task ${quoteValue(target)} runs on this store`;
}

/**
 * Gives an order to a task or to all tasks. A halt of a lost run ends its processes. A run that was paused in the inbox
 * is resumed by its card; a caller that cannot start an agent gets the error `needs_terminal`.
 */
export async function giveTaskOrder(
  store: CrossProcessStore,
  order: TaskOrder,
  request: OrderRequest,
  canResume = false,
): Promise<TaskOrderResult> {
  const paused = order === 'resume' && request.target !== null ? await readStoredRun(store, request.target) : undefined;
  if (paused?.state === 'paused' && paused.card !== undefined) {
    const result = await followUpOnRun(store, paused.card, { action: 'retry' }, request, canResume);
    if (result.status === 'to-resume') return { status: 'to-resume', run: result.run };
  }
  const lost = order === 'halt' && request.target !== null ? await endLostRun(store, request.target) : undefined;
  if (lost === undefined) return { status: 'ordered', ...(await orderTasks(store, order, request)) };
  const { total, surviving } = lost;
  return { status: 'ended', ended: total - surviving.length, surviving };
}
