/** The gear: the library's front door, a thin face on its works. */

import { quoted } from '../core/quote.ts';
import type { AnyFunction, GuardOptions, Switchgear, SwitchgearOptions } from './api.ts';
import { delegate, delegateChecks } from './entries/delegate.ts';
import { breakerHandle, reset } from './extras/breaker-handle.ts';
import { snapshotOf } from './extras/snapshot.ts';
import { listen } from './journal/journal.ts';
import { guardFunction } from './route/guarded-function.ts';
import { targetOf } from './route/target.ts';
import { frameOf } from './runtime/async-context.ts';
import { entries, fn as isFunction, name as isName, options, whole } from './runtime/option-checks.ts';
import { createWorks } from './runtime/runtime.ts';
import { keepWorks } from './runtime/works-of.ts';
import { haltByHand } from './tasks/halt.ts';
import { runTask } from './tasks/run-task.ts';
import { stopSweep } from './tasks/sweep.ts';
import { faceOf } from './tasks/task-handle.ts';
import { endTask, startTask } from './tasks/task-tree.ts';

/** A new gear: every protection on, unless the policy says otherwise. */
export function createSwitchgear(given: SwitchgearOptions = {}): Switchgear {
  const works = createWorks(given);
  const { agent, session, store, breakers, tasks } = works;
  const around = () => frameOf(works)?.task;

  function guard(name: string, fn: AnyFunction, said: GuardOptions = {}): AnyFunction {
    isFunction(`the tool ${quoted(name)}`, fn);
    return guardFunction(works, targetOf(works, name, said), fn, said);
  }

  function dispose(): void {
    for (const task of [...tasks.values()]) endTask(works, task);
    stopSweep(works);
    works.timeouts.close();
    works.rounds = undefined; // What comes back from a wait, or was asked about, is refused.
    for (const end of [...works.waiting.values()]) end();
    works.health = undefined;
    works.budgets?.close();
    store.close();
  }

  const gear = {
    agent,
    session,
    get settings() {
      return works.settings;
    },
    guard,
    guardAll: (tools, said) =>
      Object.fromEntries(entries('the tools', tools).map(([name, fn]) => [name, guard(name, fn as AnyFunction, said)])),
    task(said, run) {
      isFunction('the task function', run);
      return runTask(works, startTask(works, said ?? {}, around()), run);
    },
    startTask: (said = {}) => faceOf(works, startTask(works, said, around())),
    currentTask() {
      const task = around();
      return task && faceOf(works, task);
    },
    call: () => frameOf(works)?.call,
    delegate(worker, run, said = {}) {
      isFunction('the worker function', run);
      options('delegate options', said, delegateChecks);
      return delegate(works, isName('the name of a worker', worker), run, said);
    },
    breaker: (name) => breakerHandle(works, isName('the name of a breaker', name)),
    snapshot: () => snapshotOf(works),
    on: (listener) => listen(works, listener),
    journal: (fromSeq = 0) => store.tail(whole('fromSeq', fromSeq, 0)),
    halt(id, reason) {
      const task = id === undefined ? undefined : tasks.get(id);
      haltByHand(works, id === undefined ? tasks.values() : task === undefined ? [] : [task], reason);
    },
    resetAll() {
      for (const entry of breakers.values()) reset(works, entry);
    },
    dispose,
    [Symbol.dispose]: dispose,
  } as Switchgear;
  keepWorks(gear, works);
  return gear;
}
