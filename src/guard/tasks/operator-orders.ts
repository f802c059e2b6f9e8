/** Orders of an operator reach a gear here, where others share its store. */

import type { Obey } from '../../ports/orders.ts';
import type { Works } from '../runtime/runtime.ts';
import { haltByHand } from './halt.ts';
import type { TaskNode } from './task.ts';
import { pauseTask, resumeTask } from './task-tree.ts';

/** How this gear obeys; undefined where nobody else can say anything. */
export function obeyOrders(works: Works): Obey | undefined {
  return works.store.shared?.orders<TaskNode>({
    tasks: works.tasks,
    halt: (task, reason) => haltByHand(works, [task], reason),
    pause: (task) => pauseTask(works, task),
    resume: (task) => resumeTask(works, task),
  });
}
