/**
 * The adapter of the Claude Agent SDK: adds hooks that fail closed to `query`, counts usage from its messages, and
 * treats subagents as workers.
 */

import type { Task, TaskOptions } from '../../guard/api.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { guardOnce } from '../host/guard-once.ts';
import { isTask, makeHaltFacts, type ProtectOptions } from '../host/host-run.ts';
import { overrideMethods } from '../host/override-methods.ts';
import { createClaudeHooks } from './hooks.ts';
import { createMessageObserver } from './observe-messages.ts';

interface QueryParams {
  readonly options?: { readonly hooks?: Readonly<Record<string, readonly unknown[] | undefined>> };
}

/** The subset of a running query that is used. */
interface QueryLike extends AsyncIterable<unknown> {
  next(): Promise<IteratorResult<unknown>>;
  return(value?: unknown): Promise<IteratorResult<unknown>>;
  close?(): unknown;
}

/**
 * Guards `query`: every run is a task, and the result message of a halted run has the reason in `switchgear`.
 * @example
 * import { query } from '@anthropic-ai/claude-agent-sdk';
 * import { protect } from 'switchgear/adapters/claude-agent-sdk';
 *
 * const guardedQuery = protect(query);
 * for await (const message of guardedQuery({ prompt: 'Mend the tests.' })) console.log(message.type);
 */
export function protect<Q extends (params: never) => AsyncIterable<unknown>>(
  query: Q,
  options: ProtectOptions = {},
): Q {
  const { gear = defaultSwitchgear(), task: taskOption } = options;

  function guarded(params: QueryParams): AsyncIterable<unknown> {
    const outerTask = isTask(taskOption) ? taskOption : gear.currentTask();
    const task: Task = outerTask ?? gear.startTask(taskOption as TaskOptions | undefined);
    const { hooks, taskOf, settleUnfinished } = createClaudeHooks(gear, task);
    const observer = createMessageObserver(gear, taskOf);
    const ownHooks = params.options?.hooks ?? {};
    const merged = { ...ownHooks };
    for (const [event, matcher] of Object.entries(hooks)) merged[event] = [...(ownHooks[event] ?? []), matcher];
    const started = query({
      ...params,
      options: { ...params.options, hooks: merged },
    } as never) as QueryLike;

    function finish(): void {
      observer.end();
      settleUnfinished();
      if (outerTask === undefined) task.end();
    }

    const running: QueryLike = overrideMethods(started, {
      async next() {
        try {
          const step = await started.next();
          if (step.done) finish();
          else observeMessage(step.value);
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
      const isResult = (message as { readonly type?: unknown } | null)?.type === 'result';
      if (isResult && task.halt) Object.assign(message as object, { switchgear: makeHaltFacts(task.halt) });
    }

    return running;
  }

  return guardOnce(query, gear, () => guarded as Q & typeof guarded);
}
