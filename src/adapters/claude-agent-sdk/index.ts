/**
 * The adapter of the Claude Agent SDK: adds hooks that fail closed to `query`, counts usage from its messages, and
 * treats subagents as workers.
 */

import { callGraceMs } from '../../core/limits.ts';
import type { HaltedResult } from '../../core/messages/halt-of.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Switchgear, Task, TaskOptions } from '../../guard/api.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { runtimeOf } from '../../guard/internal.ts';
import { isClass, unknownThing } from '../host/check-thing.ts';
import { guardOnce, reportGuarded } from '../host/guard-once.ts';
import { isTask, makeHaltFacts, type ProtectOptions, refusalText, throwAtLimit } from '../host/host-run.ts';
import { overrideMethods } from '../host/override-methods.ts';
import { createClaudeHooks } from './hooks.ts';
import { createMessageObserver } from './observe-messages.ts';

interface QueryParams {
  readonly prompt?: unknown;
  readonly options?: { readonly hooks?: Readonly<Record<string, readonly unknown[] | undefined>> };
}

/** The subset of a running query that is used. */
interface QueryLike extends AsyncIterable<unknown> {
  next(): Promise<IteratorResult<unknown>>;
  return(value?: unknown): Promise<IteratorResult<unknown>>;
  close?(): unknown;
  interrupt?(): unknown;
}

/**
 * The next message of a query; undefined if none came a while after the task halted and the query was interrupted.
 * @param graceMs the time that the query still has after the halt
 */
function nextInTime<T>(
  gear: Switchgear,
  task: Task,
  graceMs: () => number,
  next: () => Promise<T>,
  observe: (step: T) => void,
): Promise<T | undefined> {
  const { clock, hold } = runtimeOf(gear);
  let cancel = () => {};
  hold.begin();
  return new Promise<T | undefined>((resolve, reject) => {
    const onHalt = () => {
      const leftMs = graceMs();
      if (leftMs < -callGraceMs) resolve(undefined); // Messages come faster than a timer.
      cancel = clock.after(Math.max(0, leftMs), () => resolve(undefined));
    };
    if (task.signal.aborted) onHalt();
    else task.signal.addEventListener('abort', onHalt, { once: true });
    const forget = () => task.signal.removeEventListener('abort', onHalt);
    next().then(
      (step) => {
        observe(step); // In the same tick: the query goes on meanwhile.
        forget();
        resolve(step);
      },
      (error) => {
        forget();
        reject(error);
      },
    );
  }).finally(() => {
    cancel();
    hold.end();
  });
}

/** Ends a query that does not answer. */
function end(query: QueryLike): void {
  try {
    if (query.close === undefined) query.return(undefined).then(undefined, () => {});
    else query.close();
  } catch {
    // It has ended already.
  }
}

/** The result message of a run that was cut. */
function makeResultMessage(halt: Refusal): object {
  return {
    type: 'result',
    subtype: 'error_during_execution',
    is_error: true,
    errors: [halt.explanation],
    result: refusalText(halt),
    switchgear: makeHaltFacts(halt),
  };
}

/** A message of a query: the result message of a halted run has the reason. */
export type WithHalt<M> = M extends { readonly type: 'result' } ? M & HaltedResult : M;

/** The keys with which a query is read. */
type ReadingKey = 'next' | 'return' | 'throw' | typeof Symbol.asyncIterator;

/** A guarded query: its own type, with messages that tell of a halt. */
export type GuardedQuery<R> =
  R extends AsyncGenerator<infer M, infer V, infer N>
    ? Omit<R, ReadingKey> & AsyncGenerator<WithHalt<M>, V, N>
    : R extends AsyncIterable<infer M>
      ? Omit<R, ReadingKey> & AsyncIterable<WithHalt<M>>
      : R;

/**
 * Guards `query`: every run is a task, and the result message of a halted run has the reason in `switchgear`.
 * @example
 * import { query } from '@anthropic-ai/claude-agent-sdk';
 * import { protect } from 'switchgear/adapters/claude-agent-sdk';
 *
 * const guardedQuery = protect(query);
 * for await (const message of guardedQuery({ prompt: 'Mend the tests.' })) console.log(message.type);
 */
export function protect<P, R extends AsyncIterable<unknown>>(
  query: (params: P) => R,
  options: ProtectOptions = {},
): (params: P) => GuardedQuery<R> {
  const { gear = defaultSwitchgear(), task: taskOption } = options;
  if (typeof query !== 'function' || isClass(query))
    throw unknownThing('the function query', query, 'write protect(query)({ prompt, options })');

  function guarded(params: QueryParams): AsyncIterable<unknown> {
    const outerTask = isTask(taskOption) ? taskOption : gear.currentTask();
    const task: Task = outerTask ?? gear.startTask(taskOption as TaskOptions | undefined);
    const { hooks, taskOf, settleUnfinished } = createClaudeHooks(gear, task);
    const observer = createMessageObserver(gear, taskOf, params.prompt);
    const ownHooks = params.options?.hooks ?? {};
    const merged = { ...ownHooks };
    for (const [event, matcher] of Object.entries(hooks)) merged[event] = [...(ownHooks[event] ?? []), matcher];
    const started = query({
      ...params,
      options: { ...params.options, hooks: merged },
    } as P) as unknown as QueryLike;

    const { clock } = runtimeOf(gear);
    let interruptedMs: number | undefined;
    // After other halts the hooks end the run.
    const onHalt = () => {
      const isUrgent = task.halt?.control === 'deadline' || task.halt?.control === 'operator';
      if (!isUrgent) return;
      interruptedMs = clock.nowMs();
      Promise.resolve(started.interrupt?.()).catch(() => {});
    };
    /** A query that streams on after its interrupt does not get the whole time again with each message. */
    const graceMs = () => (interruptedMs === undefined ? 0 : interruptedMs - clock.nowMs()) + callGraceMs;
    if (!task.signal.aborted) task.signal.addEventListener('abort', onHalt, { once: true });

    function finish(): void {
      task.signal.removeEventListener('abort', onHalt);
      observer.end();
      settleUnfinished();
      if (outerTask === undefined) task.end();
    }

    let isCut = false;
    const running: QueryLike = overrideMethods(started, {
      async next() {
        if (isCut) return { done: true, value: undefined };
        try {
          const observeStep = (step: IteratorResult<unknown>) => {
            if (!step.done) observeMessage(step.value);
          };
          const step = await nextInTime(gear, task, graceMs, () => started.next(), observeStep);
          if (step === undefined) {
            isCut = true;
            finish();
            end(started);
            throwAtLimit(gear, task);
            return { done: false, value: makeResultMessage(task.halt!) };
          }
          if (step.done) finish();
          else if (isResult(step.value) && task.halt !== undefined) throwAtLimit(gear, task);
          return step;
        } catch (error) {
          finish();
          throw error;
        }
      },
      return(value?: unknown) {
        finish();
        return started.return(value);
      },
      close() {
        finish();
        return started.close?.();
      },
      [Symbol.asyncIterator]: () => running,
    });

    function observeMessage(message: unknown): void {
      observer.observeMessage(message);
      if (isResult(message) && task.halt) Object.assign(message as object, { switchgear: makeHaltFacts(task.halt) });
    }

    return running;
  }

  reportGuarded(gear, 'claude-agent-sdk', ['every run of query']);
  return guardOnce(query as (params: P) => GuardedQuery<R>, gear, () => guarded as never);
}

function isResult(message: unknown): boolean {
  return (message as { readonly type?: unknown } | null)?.type === 'result';
}
