/** Connects operator orders of a shared store to a gear. */

import type { ApplyOrders } from '../../ports/orders.ts';
import type { Runtime } from '../runtime/runtime.ts';
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
