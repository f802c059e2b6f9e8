/** Orders of an operator reach a gear here, where others share its store. */

import type { Obey } from '../../ports/orders.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { haltByHand } from './halt.ts';
import type { TaskNode } from './task.ts';
import { pauseTask, resumeTask } from './task-tree.ts';

/** How this gear obeys; undefined where nobody else can say anything. */
export function obeyOrders(runtime: Runtime): Obey | undefined {
  return runtime.store.shared?.orders<TaskNode>({
    tasks: runtime.tasks,
    halt: (task, reason) => haltByHand(runtime, [task], reason),
    pause: (task) => pauseTask(runtime, task),
    resume: (task) => resumeTask(runtime, task),
  });
}
