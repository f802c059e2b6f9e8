/** A compiled graph whose runs are tasks: from the first step to the last, across interrupts of the same thread. */

import { makeRoom } from '../../core/bounded.ts';
import { hostRunsMax } from '../../core/limits.ts';
import type { Task, TaskOptions } from '../../guard/api.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { runtimeOf } from '../../guard/runtime/runtime.ts';
import { guardOnce } from '../host/guard-once.ts';
import { isTask, type ProtectOptions } from '../host/host-run.ts';
import { overrideMethods } from '../host/override-methods.ts';
import { type Runtime, threadOf } from '../langchain/shapes.ts';

interface GraphLike {
  invoke(input: unknown, config?: unknown): Promise<unknown>;
  stream?(input: unknown, config?: unknown): Promise<Stream>;
}

/** A stream as LangChain makes them: its own iterator. */
interface Stream {
  next(): Promise<IteratorResult<unknown>>;
  return?(value?: unknown): Promise<IteratorResult<unknown>>;
}

/** The graph, with a task around each run. */
export function protectGraph<G extends object>(graph: G, options: ProtectOptions): G {
  const { gear = defaultSwitchgear(), task: given } = options;
  const { clock } = runtimeOf(gear);
  const target = graph as G & GraphLike;
  /** Tasks of threads that wait for a person. */
  const waiting = new Map<string, { readonly task: Task; readonly stay: () => void }>();

  /** The task of a run, and whether it is ours to end. */
  function open(thread: string | undefined): { readonly task: Task; readonly isOwn: boolean } {
    const around = isTask(given) ? given : gear.currentTask();
    if (around !== undefined) return { task: around, isOwn: false };
    const kept = thread === undefined ? undefined : waiting.get(thread);
    if (kept === undefined || thread === undefined) {
      // A thread is a conversation: what its workers failed at is counted in it.
      return { task: gear.startTask({ ...(thread && { session: thread }), ...(given as TaskOptions) }), isOwn: true };
    }
    waiting.delete(thread);
    kept.stay();
    kept.task.resume();
    return { task: kept.task, isOwn: true };
  }

  function close(task: Task, thread: string | undefined, isInterrupted: boolean): void {
    if (!isInterrupted || thread === undefined) {
      task.end();
      return;
    }
    task.pause();
    makeRoom(waiting, hostRunsMax);
    const forget = () => {
      waiting.delete(thread);
      task.end();
    };
    const stay = clock.after(1000 * gear.settings.approval.timeoutSecs, forget);
    waiting.set(thread, { task, stay });
  }

  async function invoke(input: unknown, config?: unknown): Promise<unknown> {
    const thread = threadOf(config as Runtime | undefined);
    const { task, isOwn } = open(thread);
    let isInterrupted = false;
    try {
      const state = await task.run(() => target.invoke(input, config));
      isInterrupted = hasInterrupt(state);
      return state;
    } finally {
      if (isOwn) close(task, thread, isInterrupted);
    }
  }

  async function stream(input: unknown, config?: unknown): Promise<unknown> {
    const thread = threadOf(config as Runtime | undefined);
    const { task, isOwn } = open(thread);
    let isInterrupted = false;
    let isOver = !isOwn;
    const over = () => {
      if (!isOver) close(task, thread, isInterrupted);
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
            if (chunk.done) over();
            return chunk;
          } catch (error) {
            over();
            throw error;
          }
        },
        return(value?: unknown) {
          over();
          return stop?.(value) ?? Promise.resolve({ done: true, value });
        },
      });
    } catch (error) {
      over();
      throw error;
    }
  }

  return guardOnce(graph, gear, () => overrideMethods(graph, { invoke, stream }));
}

/** Whether a state, or a chunk of any stream mode, tells of an interrupt. */
function hasInterrupt(value: unknown): boolean {
  const parts = Array.isArray(value) ? value : [value];
  return parts.some((part) => typeof part === 'object' && part !== null && '__interrupt__' in part);
}
