/** Makes each run of a compiled graph a task, which continues across interrupts of the same thread. */

import { evictOldest } from '../../core/bounded.ts';
import { hostRunsMax } from '../../core/limits.ts';
import type { Task, TaskOptions } from '../../guard/api.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { runtimeOf } from '../../guard/internal.ts';
import { guardOnce } from '../host/guard-once.ts';
import { isTask, type ProtectOptions } from '../host/host-run.ts';
import { overrideMethods } from '../host/override-methods.ts';
import { type LangChainRuntime, threadOf } from '../langchain/shapes.ts';

interface GraphLike {
  invoke(input: unknown, config?: unknown): Promise<unknown>;
  stream?(input: unknown, config?: unknown): Promise<Stream>;
}

/** A stream of LangChain, which is its own iterator. */
interface Stream {
  next(): Promise<IteratorResult<unknown>>;
  return?(value?: unknown): Promise<IteratorResult<unknown>>;
}

/** Returns the graph with a task around each run. */
export function protectGraph<G extends object>(graph: G, options: ProtectOptions): G {
  const { gear = defaultSwitchgear(), task: taskOption } = options;
  const { clock } = runtimeOf(gear);
  const target = graph as G & GraphLike;
  /** The tasks of threads that wait at an interrupt. */
  const pausedRuns = new Map<string, { readonly task: Task; readonly cancelExpiry: () => void }>();

  /** The task of a run, and whether the adapter must end it. */
  function openRun(thread: string | undefined): { readonly task: Task; readonly isOwn: boolean } {
    const outerTask = isTask(taskOption) ? taskOption : gear.currentTask();
    if (outerTask !== undefined) return { task: outerTask, isOwn: false };
    const pausedRun = thread === undefined ? undefined : pausedRuns.get(thread);
    if (pausedRun === undefined || thread === undefined) {
      // The thread is the session, so failures of workers are counted per thread.
      return {
        task: gear.startTask({ ...(thread && { session: thread }), ...(taskOption as TaskOptions) }),
        isOwn: true,
      };
    }
    pausedRuns.delete(thread);
    pausedRun.cancelExpiry();
    pausedRun.task.resume();
    return { task: pausedRun.task, isOwn: true };
  }

  function closeRun(task: Task, thread: string | undefined, isInterrupted: boolean): void {
    if (!isInterrupted || thread === undefined) {
      task.end();
      return;
    }
    task.pause();
    evictOldest(pausedRuns, hostRunsMax);
    const expire = () => {
      pausedRuns.delete(thread);
      task.end();
    };
    const cancelExpiry = clock.after(1000 * gear.settings.approval.timeoutSecs, expire);
    pausedRuns.set(thread, { task, cancelExpiry: cancelExpiry });
  }

  async function invoke(input: unknown, config?: unknown): Promise<unknown> {
    const thread = threadOf(config as LangChainRuntime | undefined);
    const { task, isOwn } = openRun(thread);
    let isInterrupted = false;
    try {
      const state = await task.run(() => target.invoke(input, config));
      isInterrupted = hasInterrupt(state);
      return state;
    } finally {
      if (isOwn) closeRun(task, thread, isInterrupted);
    }
  }

  async function stream(input: unknown, config?: unknown): Promise<unknown> {
    const thread = threadOf(config as LangChainRuntime | undefined);
    const { task, isOwn } = openRun(thread);
    let isInterrupted = false;
    let isOver = !isOwn;
    const finish = () => {
      if (!isOver) closeRun(task, thread, isInterrupted);
      isOver = true;
    };
    try {
      const chunks = await task.run(() => target.stream?.(input, config));
      if (chunks === undefined) return chunks;
      const [next, stop] = [chunks.next.bind(chunks), chunks.return?.bind(chunks)];
      return Object.assign(chunks, {
        async next() {
          try {
            const chunk = await next();
            isInterrupted ||= hasInterrupt(chunk.value);
            if (chunk.done) finish();
            return chunk;
          } catch (error) {
            finish();
            throw error;
          }
        },
        return(value?: unknown) {
          finish();
          return stop?.(value) ?? Promise.resolve({ done: true, value });
        },
      });
    } catch (error) {
      finish();
      throw error;
    }
  }

  return guardOnce(graph, gear, () => overrideMethods(graph, { invoke, stream }));
}

/** Whether a state, or a chunk of any stream mode, contains an interrupt. */
function hasInterrupt(value: unknown): boolean {
  const parts = Array.isArray(value) ? value : [value];
  return parts.some((part) => typeof part === 'object' && part !== null && '__interrupt__' in part);
}
