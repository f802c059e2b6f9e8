/** Runs a function as a task, from its start to a typed end. */

import { readError } from '../../core/classify.ts';
import { haltGraceMs } from '../../core/limits.ts';
import { refusalOf } from '../../core/refusal.ts';
import type { Task, TaskResult } from '../api.ts';
import { runInside } from '../runtime/async-context.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { onHalt, type TaskState } from './task.ts';
import { taskHandle } from './task-handle.ts';
import { endTask } from './task-tree.ts';

/**
 * The result of a task: done with its value, or halted. Foreign errors pass through.
 * A function that does not come back after its task was halted is given up after a while.
 */
export async function runTask<T>(
  runtime: Runtime,
  node: TaskState,
  run: (task: Task) => T | Promise<T>,
): Promise<TaskResult<T>> {
  const { clock, waiting } = runtime;
  let forget = () => {};
  const givenUp = new Promise<undefined>((resolve) => {
    const wait = () => {
      const giveUp = () => resolve(undefined);
      forget = clock.after(haltGraceMs, giveUp);
      waiting.set(node, giveUp);
    };
    if (node.halt === undefined) forget = onHalt(node, wait);
    else wait(); // Born below a halted task: nothing will tell it once more.
  });
  const inside = async () => ({ value: await runInside(runtime, node, () => run(taskHandle(runtime, node))) });
  try {
    const outcome = await Promise.race([inside(), givenUp]);
    endTask(runtime, node);
    const { halt } = node;
    return halt === undefined ? { status: 'done', ...outcome! } : { status: 'halted', halt, ...outcome };
  } catch (error) {
    endTask(runtime, node, 'error');
    const { halt } = node;
    const isOurs = refusalOf(error) !== undefined || readError(error).names.includes('AbortError');
    if (halt !== undefined && isOurs) return { status: 'halted', halt };
    throw error;
  } finally {
    forget();
    waiting.delete(node);
  }
}
