/** Makes each run of a compiled graph a task, which continues across interrupts of the same thread. */

import { evictOldest } from '../../core/bounded.ts';
import { callGraceMs, hostRunsMax } from '../../core/limits.ts';
import type { Task, TaskOptions } from '../../guard/api.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { runtimeOf } from '../../guard/internal.ts';
import type { Clock } from '../../ports/clock.ts';
import { untilAbort } from '../host/closing-call.ts';
import { guardOnce } from '../host/guard-once.ts';
import { isTask, makeRefusedError, type ProtectOptions } from '../host/host-run.ts';
import { guardRunnable } from '../langchain/guarded-runnable.ts';
import { type LangChainRuntime, threadOf } from '../langchain/shapes.ts';
import { addSignalTo } from '../langchain/with-signal.ts';

interface GraphLike {
  invoke(input: unknown, config?: unknown): Promise<unknown>;
  stream?(input: unknown, config?: unknown): Promise<Stream>;
  withConfig?(config: object): object;
  streamEvents?(...args: readonly unknown[]): unknown;
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
      const ending = endAfterHalt(task, clock);
      const run = () => target.invoke(input, addSignalTo(config, ending.signal));
      const state = await untilAbort(task.run(run), ending.signal).finally(ending.forget);
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
      ending.forget();
      if (!isOver) closeRun(task, thread, isInterrupted);
      isOver = true;
    };
    const ending = endAfterHalt(task, clock);
    try {
      const chunks = await task.run(() => target.stream?.(input, addSignalTo(config, ending.signal)));
      if (chunks === undefined) return chunks;
      const [next, stop] = [chunks.next.bind(chunks), chunks.return?.bind(chunks)];
      return Object.assign(chunks, {
        async next() {
          try {
            const chunk = await untilAbort(next(), ending.signal);
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

  const withConfig = (...args: readonly unknown[]) =>
    protectGraph(Reflect.apply(target.withConfig!, graph, args), options);
  /** On a copy, because its private methods need an object of its own class. */
  const streamEvents = (...args: readonly unknown[]) => {
    const copy = Object.assign(target.withConfig!({}) as GraphLike, { invoke, stream });
    return copy.streamEvents!(...args);
  };
  const methods = { invoke, stream, ...(target.withConfig && { withConfig, streamEvents }) };
  return guardOnce(graph, gear, () => guardRunnable(graph, methods));
}

/** The signal that ends a graph which has not returned a while after its task halted. */
function endAfterHalt(task: Task, clock: Clock): { readonly signal: AbortSignal; forget(): void } {
  const ending = new AbortController();
  let cancel = () => {};
  const onHalt = () => {
    cancel = clock.after(callGraceMs, () => ending.abort(makeRefusedError(task.halt!)), true);
  };
  if (task.signal.aborted) onHalt();
  else task.signal.addEventListener('abort', onHalt, { once: true });
  return {
    signal: ending.signal,
    forget() {
      cancel();
      task.signal.removeEventListener('abort', onHalt);
    },
  };
}

/** Whether a state, or a chunk of any stream mode, contains an interrupt. */
function hasInterrupt(value: unknown): boolean {
  const parts = Array.isArray(value) ? value : [value];
  return parts.some((part) => typeof part === 'object' && part !== null && '__interrupt__' in part);
}
