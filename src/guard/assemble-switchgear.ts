/** Assembles a gear: the public methods over a runtime. */

import { quoteValue } from '../core/quote.ts';
import type { AnyFunction, GuardOptions, Switchgear, SwitchgearOptions } from './api.ts';
import { createRuntime } from './create-runtime.ts';
import { delegate, delegateChecks } from './entries/delegate.ts';
import { breakerHandle, resetBreakerEntry } from './extras/breaker-handle.ts';
import { makeSnapshot } from './extras/snapshot.ts';
import { addListener } from './journal/journal.ts';
import { guardFunction } from './route/guarded-function.ts';
import { makeTarget } from './route/target.ts';
import { frameOf } from './runtime/async-context.ts';
import { entries, fn as isFunction, name as isName, options, whole } from './runtime/option-checks.ts';
import { type RuntimeOverrides, registerRuntime } from './runtime/runtime.ts';
import { haltByOperator } from './tasks/halt.ts';
import { runTask } from './tasks/run-task.ts';
import { stopSweep } from './tasks/sweep.ts';
import { taskHandle } from './tasks/task-handle.ts';
import { endTask, startTask } from './tasks/task-tree.ts';

/** A gear with overrides that only the product itself sets. */
export function assembleSwitchgear(given: SwitchgearOptions, overrides: RuntimeOverrides = {}): Switchgear {
  const runtime = createRuntime(given, overrides);
  const { agent, session, store, breakers, tasks } = runtime;
  const around = () => frameOf(runtime)?.task;

  function guard(name: string, fn: AnyFunction, said: GuardOptions = {}): AnyFunction {
    isFunction(`the tool ${quoteValue(name)}`, fn);
    return guardFunction(runtime, makeTarget(runtime, name, said), fn, said);
  }

  function dispose(): void {
    for (const task of [...tasks.values()]) endTask(runtime, task);
    stopSweep(runtime);
    runtime.timeouts.close();
    runtime.isDisposed = true;
    for (const end of [...runtime.waiting.values()]) end();
    runtime.health = undefined;
    runtime.budgets?.close();
    store.close();
  }

  const gear = {
    agent,
    session,
    get settings() {
      return runtime.settings;
    },
    guard,
    guardAll: (tools, said) =>
      Object.fromEntries(entries('the tools', tools).map(([name, fn]) => [name, guard(name, fn as AnyFunction, said)])),
    task(said, run) {
      isFunction('the task function', run);
      return runTask(runtime, startTask(runtime, said ?? {}, around()), run);
    },
    startTask: (said = {}) => taskHandle(runtime, startTask(runtime, said, around())),
    currentTask() {
      const task = around();
      return task && taskHandle(runtime, task);
    },
    currentCall: () => frameOf(runtime)?.call,
    delegate(worker, run, said = {}) {
      isFunction('the worker function', run);
      options('delegate options', said, delegateChecks);
      return delegate(runtime, isName('the name of a worker', worker), run, said);
    },
    breaker: (name) => breakerHandle(runtime, isName('the name of a breaker', name)),
    snapshot: () => makeSnapshot(runtime),
    on: (listener) => addListener(runtime, listener),
    journal: (fromSeq = 0) => store.tail(whole('fromSeq', fromSeq, 0)),
    halt(id, reason) {
      const task = id === undefined ? undefined : tasks.get(id);
      haltByOperator(runtime, id === undefined ? tasks.values() : task === undefined ? [] : [task], reason);
    },
    resetAll() {
      for (const entry of breakers.values()) resetBreakerEntry(runtime, entry);
    },
    dispose,
    [Symbol.dispose]: dispose,
  } as Switchgear;
  registerRuntime(gear, runtime);
  return gear;
}
