/** Connects operator orders of a shared store to a gear. */

import type { ApplyOrders } from '../../ports/orders.ts';
import type { Switchgear } from '../api.ts';
import { countError } from '../journal/journal.ts';
import { type Runtime, runtimeOf } from '../runtime/runtime.ts';
import { haltByOperator } from './halt.ts';
import type { TaskState } from './task.ts';
import { pauseTask, resumeTask } from './task-tree.ts';

/** Returns the function that applies orders to this gear; undefined without a shared store. */
export function subscribeToOrders(runtime: Runtime): ApplyOrders | undefined {
  return runtime.store.shared?.subscribeToOrders<TaskState>({
    tasks: runtime.tasks,
    halt: (task, reason) => haltByOperator(runtime, [task], reason),
    pause: (task) => pauseTask(runtime, task),
    resume: (task) => resumeTask(runtime, task),
  });
}

/** Applies orders that another process has just written, without waiting for the next decision or sweep. */
export function applyNewOrders(runtime: Runtime): void {
  if (runtime.isDisposed) return;
  try {
    runtime.applyOrders?.(runtime.clock.nowMs());
  } catch (error) {
    countError(runtime, 'operator-orders', error);
  }
}

/**
 * Applies orders that were given since the work of a task began, before the task did: an agent is started while the
 * engine loads. Call it right after the start of the gear's first task.
 */
export function applyOrdersSince(gear: Switchgear, id: string, sinceMs: number): void {
  const runtime = runtimeOf(gear);
  const task = runtime.tasks.get(id);
  if (task === undefined) return;
  task.orderedSinceMs = sinceMs;
  runtime.applyOrders = subscribeToOrders(runtime); // The gear may have seen the orders without the task.
  runtime.store.shared?.refresh();
  runtime.applyOrders?.(runtime.clock.nowMs());
}
