/** Assembles a gear: the public methods over a runtime. */

import type { EntryType } from '../core/event.ts';
import { quoteValue } from '../core/quote.ts';
import type { AnyFunction, EntryOf, Switchgear, SwitchgearOptions } from './api.ts';
import type { GuardedRunOptions, GuardOptions } from './call-options.ts';
import { createRuntime } from './create-runtime.ts';
import { delegate, delegateChecks } from './entries/delegate.ts';
import { admitHostCall } from './entries/two-step.ts';
import { answerCard, makeRetryOptions, waitForAnswer } from './extras/answer-card.ts';
import { breakerHandle, resetBreakerEntry } from './extras/breaker-handle.ts';
import { addControl } from './extras/custom-controls.ts';
import { addModelRules, reload } from './extras/reload.ts';
import { retry } from './extras/retry.ts';
import { makeSnapshot } from './extras/snapshot.ts';
import { watch } from './extras/watch.ts';
import { addListener, printDebug } from './journal/journal.ts';
import { checkEntryType } from './journal/known-entries.ts';
import { guardFunction } from './route/guarded-function.ts';
import { findOneOffTarget, makeTarget } from './route/target.ts';
import { frameOf } from './runtime/async-context.ts';
import { copyProperties } from './runtime/copy-properties.ts';
import { entries, fn as isFunction, name as isName, list, options, whole } from './runtime/option-checks.ts';
import { type Runtime, type RuntimeOverrides, registerRuntime } from './runtime/runtime.ts';
import { listCards } from './tasks/cards.ts';
import { haltByOperator } from './tasks/halt.ts';
import { runTask } from './tasks/run-task.ts';
import { stopSweep } from './tasks/sweep.ts';
import { taskHandle } from './tasks/task-handle.ts';
import { endTask, startTask } from './tasks/task-tree.ts';

/** Creates a gear with overrides that only hooks, chains and the supervisor set. */
export function assembleSwitchgear(gearOptions: SwitchgearOptions, overrides: RuntimeOverrides = {}): Switchgear {
  const runtime = createRuntime(gearOptions, overrides);
  const { agent, session, store, breakers, tasks } = runtime;
  const currentTask = () => frameOf(runtime)?.task;
  const gear = {
    agent,
    session,
    get settings() {
      return runtime.settings;
    },
    cards: {
      list: () => listCards(runtime),
      answer: (card, answer, by, request) => answerCard(runtime, card, answer, by, request),
      waitForAnswer: (card, waitOptions) => waitForAnswer(runtime, card, waitOptions),
    },
    guard: (name, fn, guardOptions) => guard(runtime, name, fn, guardOptions),
    guardAll: (tools, guardOptions) =>
      Object.fromEntries(
        entries('the tools', tools).map(([name, fn]) => [name, guard(runtime, name, fn as AnyFunction, guardOptions)]),
      ),
    run: (name, fn, runOptions) => runOnce(runtime, name, fn, runOptions),
    task: (first: unknown, second?: unknown) =>
      rejecting(() => {
        const [taskOptions, run] = typeof first === 'function' && second === undefined ? [{}, first] : [first, second];
        isFunction('the task function', run);
        return runTask(runtime, startTask(runtime, taskOptions ?? {}, currentTask()), run as AnyFunction);
      }),
    startTask: (taskOptions = {}) => taskHandle(runtime, startTask(runtime, taskOptions, currentTask())),
    currentTask() {
      const task = currentTask();
      return task && taskHandle(runtime, task);
    },
    currentCall: () => frameOf(runtime)?.call,
    delegate: (worker, run, delegateOptions = {}) =>
      rejecting(() => {
        isFunction('the worker function', run);
        options('delegate options', delegateOptions, delegateChecks);
        return delegate(runtime, isName('the name of a worker', worker), run, delegateOptions);
      }),
    admit: (name, args, admitOptions) => admitHostCall(runtime, name, args, admitOptions),
    retry: (fn, retryOptions) => retry(runtime, fn, retryOptions),
    watch: (name, source, listener, watchOptions) => watch(runtime, name, source, listener, watchOptions),
    breaker: (name) => breakerHandle(runtime, isName('the name of a breaker', name)),
    addControl: (control) => addControl(runtime, control),
    addModelRules: (lines, chain) => addModelRules(runtime, lines, chain),
    reload: (policy) => reload(runtime, policy),
    retryOptions: (task) => makeRetryOptions(runtime, task),
    snapshot: () => makeSnapshot(runtime),
    on: (type, listener) => addTypedListener(runtime, type, listener),
    onEntry: (listener) => addListener(runtime, listener),
    journal: (fromSeq = 0) => store.tail(whole('fromSeq', fromSeq, 0)),
    halt(id, reason) {
      const task = tasks.get(id);
      if (task !== undefined) haltByOperator(runtime, [task], reason);
    },
    haltAll: (reason) => haltByOperator(runtime, tasks.values(), reason),
    resetAll() {
      for (const entry of breakers.values()) resetBreakerEntry(runtime, entry);
    },
    dispose: () => dispose(runtime),
    [Symbol.dispose]: () => dispose(runtime),
  } as Switchgear;
  registerRuntime(gear, runtime);
  return gear;
}

/** Runs an asynchronous method at once; an error of its arguments rejects, as its type promises. */
function rejecting<T>(run: () => Promise<T>): Promise<T> {
  try {
    return run();
  } catch (error) {
    return Promise.reject(error);
  }
}

function guard(runtime: Runtime, name: string, fn: AnyFunction, guardOptions: GuardOptions = {}): AnyFunction {
  isFunction(`the tool ${quoteValue(name)}`, fn);
  const target = makeTarget(runtime, name, guardOptions);
  printDebug(runtime, `${target.kind} ${quoteValue(name)} is guarded`);
  return copyProperties(fn, guardFunction(runtime, target, fn, guardOptions));
}

/** Calls a function once, guarded. */
function runOnce(runtime: Runtime, name: string, fn: AnyFunction, runOptions: GuardedRunOptions = {}): unknown {
  isFunction(`the tool ${quoteValue(name)}`, fn);
  const { args, ...guardOptions } = runOptions;
  const target = findOneOffTarget(runtime, name, guardOptions, args === undefined);
  return guardFunction(runtime, target, fn, guardOptions)(...(args === undefined ? [] : list('args', args)));
}

function addTypedListener<T extends EntryType>(
  runtime: Runtime,
  type: T,
  listener: (entry: EntryOf<T>) => void,
): () => void {
  checkEntryType(isName('the type of an entry', type));
  isFunction('a listener', listener);
  return addListener(runtime, (entry) => (entry.type === type ? listener(entry as EntryOf<T>) : undefined));
}

function dispose(runtime: Runtime): void {
  for (const task of [...runtime.tasks.values()]) endTask(runtime, task);
  stopSweep(runtime);
  runtime.timeouts.close();
  runtime.hold.close();
  runtime.isDisposed = true;
  for (const end of [...runtime.waiting.values()]) end();
  runtime.health = undefined;
  runtime.budgets?.close();
  runtime.store.close();
}
