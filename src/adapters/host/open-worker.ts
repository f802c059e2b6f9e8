/** A worker that the host runs itself: admitted when it starts, settled when it returns. */

import { readWorkerFailure, type WorkerFailure } from '../../core/controls/worker-failure.ts';
import type { Refusal } from '../../core/refusal.ts';
import { isRefused, refusalOf } from '../../core/refusal.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import type { HostAnswer } from '../../guard/entries/host-call.ts';
import { endingOf, type OpenCall } from '../../guard/entries/open-call.ts';
import { nextTurn } from '../../platform/system-clock.ts';

/** A running worker, with the task of its calls. */
export interface OpenWorker extends OpenCall {
  readonly task: Task;
}

export async function openWorker(
  gear: Switchgear,
  parent: Task,
  worker: string,
  request: unknown,
): Promise<OpenWorker | { readonly refusal: Refusal }> {
  const opened = Promise.withResolvers<Task>();
  const work = Promise.withResolvers<unknown>();
  const run = (task: Task) => {
    opened.resolve(task);
    return work.promise;
  };
  const delegation = parent.run(() => gear.delegate(worker, run, { request, judge: judgeByStructure(worker) }));
  delegation.catch(() => {}); // The host learns about an error from the worker's own result.
  const first = await Promise.race([opened.promise.then((task) => ({ task })), delegation]);
  const refusal = isRefused(first) ? refusalOf(first) : undefined;
  if (refusal !== undefined) return { refusal };
  const { task } = first as { readonly task: Task };
  return {
    refusal: undefined,
    task,
    args: [request],
    settle: endingOf(work),
    run: <T>(own: (signal: AbortSignal) => T | PromiseLike<T>) => untilHalt(task, own),
  };
}

/** Runs the work of a worker until it ends or its task halts. */
async function untilHalt<T>(task: Task, work: (signal: AbortSignal) => T | PromiseLike<T>): Promise<HostAnswer<T>> {
  const { signal } = task;
  const halted = Promise.withResolvers<HostAnswer<T>>();
  const onHalt = () => nextTurn(() => halted.resolve({ refusal: task.halt! }));
  if (signal.aborted) onHalt();
  else signal.addEventListener('abort', onHalt, { once: true });
  try {
    return await Promise.race([(async () => ({ value: await work(signal) }))(), halted.promise]);
  } finally {
    signal.removeEventListener('abort', onHalt);
  }
}

/**
 * Judges a worker of a host by the structure of its result only: phrases like "cannot" may be part of a good answer.
 */
export function judgeByStructure(worker: string): (result: unknown) => WorkerFailure {
  return (result) => readWorkerFailure(result, { phrases: false, worker });
}
