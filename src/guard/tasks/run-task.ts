/** Runs a function as a task, from its start to a typed end. */

import { haltGraceMs } from '../../core/limits.ts';
import { refusalOf } from '../../core/refusal.ts';
import type { Task, TaskResult } from '../api.ts';
import { runInside } from '../runtime/async-context.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { onHalt, type TaskState } from './task.ts';
import { taskHandle } from './task-handle.ts';
import { endTask } from './task-tree.ts';

/**
 * Runs a task and returns its result: done with its value, or halted. Errors of the function pass through, unless the
 * task was halted. If the function does not return after a halt, the task ends without it after a while. The process
 * does not end meanwhile.
 */
export async function runTask<T>(
  runtime: Runtime,
  node: TaskState,
  run: (task: Task) => T | Promise<T>,
): Promise<TaskResult<T>> {
  const { clock, waiting, hold } = runtime;
  if (node.halt?.code === 'cancelled') {
    const { halt } = node; // Its signal had aborted before it began.
    endTask(runtime, node);
    return { status: 'halted', halt };
  }
  let forget = () => {};
  const givenUp = new Promise<undefined>((resolve) => {
    const wait = () => {
      const giveUp = () => resolve(undefined);
      forget = clock.after(haltGraceMs, giveUp);
      waiting.set(node, giveUp);
    };
    if (node.halt === undefined) forget = onHalt(node, wait);
    else wait(); // The parent is already halted, so no other halt event will come.
  });
  const inside = async () => ({ value: await runInside(runtime, node, () => run(taskHandle(runtime, node))) });
  hold.begin();
  try {
    const outcome = await Promise.race([inside(), givenUp]);
    endTask(runtime, node);
    const { halt } = node;
    return halt === undefined ? { status: 'done', ...outcome! } : { status: 'halted', halt, ...outcome };
  } catch (error) {
    endTask(runtime, node, 'error');
    const { halt } = node;
    if (halt === undefined) throw error;
    return refusalOf(error) === undefined ? { status: 'halted', halt, error } : { status: 'halted', halt };
  } finally {
    hold.end();
    forget();
    waiting.delete(node);
  }
}
