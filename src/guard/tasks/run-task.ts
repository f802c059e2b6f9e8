/** Runs a function as a task, from its start to a typed end. */

import { haltGraceMs } from '../../core/limits.ts';
import { type Refusal, RefusedError, refusalOf } from '../../core/refusal.ts';
import type { Task, TaskResult } from '../api.ts';
import { runInside } from '../runtime/async-context.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { failsAtLimit, onHalt, type TaskState } from './task.ts';
import { taskHandle } from './task-handle.ts';
import { endTask } from './task-tree.ts';

/** How long the function of a halted task has if nothing tells it of the halt. */
const untoldGraceMs = 250;

/**
 * Runs a task and returns its result: done with its value, or halted. Errors of the function pass through, unless the
 * task was halted; a task whose limits end in an error rejects with its halt. If the function does not return after a
 * halt, the task ends without it: soon if nothing tells the function of the halt, otherwise after a while. The process
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
    const wait = (graceMs: number) => {
      const giveUp = () => resolve(undefined);
      forget = clock.after(graceMs, giveUp);
      waiting.set(node, giveUp);
    };
    if (node.halt === undefined) {
      forget = onHalt(node, (listeners) => wait(isTold(node, listeners) ? haltGraceMs : untoldGraceMs));
    } else wait(haltGraceMs); // The parent is already halted, so no other halt event will come.
  });
  const inside = async () => ({ value: await runInside(runtime, node, () => run(taskHandle(runtime, node))) });
  hold.begin();
  try {
    const outcome = await Promise.race([inside(), givenUp]);
    endTask(runtime, node);
    const { halt } = node;
    if (failsAtLimit(node)) throw new RefusedError(halt!, true);
    return halt === undefined ? { status: 'done', ...outcome! } : { status: 'halted', halt, ...outcome };
  } catch (error) {
    endTask(runtime, node, 'error');
    const { halt } = node;
    if (halt === undefined) throw error;
    if (failsAtLimit(node)) throw toLimitError(halt, error);
    return refusalOf(error) === undefined ? { status: 'halted', halt, error } : { status: 'halted', halt };
  } finally {
    hold.end();
    forget();
    waiting.delete(node);
  }
}

/**
 * Whether the function of a halted task learns of the halt and can react: from a call or a child task that is cut, a
 * wait or a signal that ends, or the refusal of the call that reached a limit.
 */
function isTold({ halt, cells, children }: TaskState, listeners: number): boolean {
  const isFromOutside = halt?.control === 'deadline' || halt?.control === 'operator';
  return !isFromOutside || listeners > 1 || cells.deadline.state.out > 0 || (children?.size ?? 0) > 0;
}

/** The error of a task that ended at a limit; what its function threw is the cause. */
function toLimitError(halt: Refusal, error: unknown): RefusedError {
  if (error instanceof RefusedError && error.refusal === halt) return error;
  return Object.assign(new RefusedError(halt, true), refusalOf(error) === undefined && { cause: error });
}
