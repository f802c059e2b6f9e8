/** Runs a function as a task, from its start to a typed end. */

import { readError } from '../core/classify.ts';
import { haltGraceMs } from '../core/limits.ts';
import { refusalOf } from '../core/refusal.ts';
import type { Task, TaskResult } from './front-door.ts';
import type { Runner } from './run.ts';
import { faceOf } from './task-face.ts';
import type { TaskHost } from './task-host.ts';
import type { TaskNode } from './task-node.ts';
import { atHalt } from './tasks.ts';

/**
 * The result of a task: done with its value, or halted. Foreign errors pass through.
 * A function that does not come back after its task was halted is given up after a while.
 */
export async function runTask<T>(
  host: TaskHost,
  runner: Pick<Runner, 'clock'>,
  node: TaskNode,
  run: (task: Task) => T | Promise<T>,
): Promise<TaskResult<T>> {
  const givenUp = giveUp(runner, node);
  try {
    const outcome = await Promise.race([inside(host, node, run), givenUp.promise]);
    host.end(node, 'done');
    if (node.halt === undefined) return { status: 'done', value: (outcome as { value: T }).value };
    return outcome === undefined
      ? { status: 'halted', halt: node.halt }
      : { status: 'halted', halt: node.halt, value: outcome.value };
  } catch (error) {
    host.end(node, 'error');
    if (node.halt !== undefined && (refusalOf(error) !== undefined || isAbort(error))) {
      return { status: 'halted', halt: node.halt };
    }
    throw error;
  } finally {
    givenUp.forget();
  }
}

async function inside<T>(host: TaskHost, node: TaskNode, run: (task: Task) => T | Promise<T>): Promise<{ value: T }> {
  return { value: await host.run(node, () => run(faceOf(host, node))) };
}

function isAbort(error: unknown): boolean {
  return readError(error).names.includes('AbortError');
}

/** Resolves some time after the task was halted, and never before. */
function giveUp(runner: Pick<Runner, 'clock'>, node: TaskNode) {
  let forget = () => {};
  const promise = new Promise<undefined>((resolve) => {
    const wait = () => {
      forget = runner.clock.after(haltGraceMs, () => resolve(undefined));
    };
    if (node.halt === undefined) forget = atHalt(node, wait);
    else wait(); // Born below a halted task: nothing will tell it once more.
  });
  return { promise, forget: () => forget() };
}
