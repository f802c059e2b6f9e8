/** The gear: the library's front door, a thin face on its works. */

import { quoted } from '../core/quoted.ts';
import type { BreakerSettings } from '../core/settings.ts';
import * as check from './arguments.ts';
import { breakerHandle } from './breaker-handle.ts';
import { haltedByHand, retryOptions } from './by-hand.ts';
import { frameOf } from './context.ts';
import { delegate } from './delegate.ts';
import type { AnyFunction, GuardOptions, Switchgear, SwitchgearOptions } from './front-door.ts';
import { reload, tighten } from './reloading.ts';
import { retry } from './retry.ts';
import { guardFunction } from './run.ts';
import { snapshotOf } from './snapshot.ts';
import { startNode } from './starting.ts';
import { faceOf } from './task-face.ts';
import { runTask } from './task-run.ts';
import { settingsOf, targetOf, tune } from './tuning.ts';
import { admitCall } from './two-step.ts';
import { watchSource } from './watch.ts';
import { createWorks, type Works } from './works.ts';

/** What the seeds' own names need beyond the front door. */
export interface Internals {
  /** Settings for every breaker of a name, existing and future. */
  tune(name: string, overrides: Readonly<Record<string, unknown>>): void;
  settingsOf(name: string): BreakerSettings;
  /** Looks at every task now, or as it will be at a time of the gear's clock. */
  sweep(atMs?: number): void;
}

const delegateOptionNames = ['limits', 'judge', 'timeoutSecs', 'request'];

/** A new gear: every protection on, unless the policy says otherwise. */
export function createSwitchgear(options: SwitchgearOptions = {}): Switchgear {
  const works = createWorks(options);
  const face: Switchgear & Internals = {
    ...calls(works),
    ...operations(works),
    get settings() {
      return works.settings;
    },
    tune: (name, overrides) => tune(works, name, overrides),
    sweep: (atMs) => works.tasks.sweep(atMs),
    settingsOf: (name) => settingsOf(works, name),
  };
  return face;
}

/** What agents and their hosts call. */
function calls(works: Works) {
  const { agent, session, clock, notes, runner, host } = works;
  const around = () => frameOf(runner.gear)?.task;

  function guardOne<F extends AnyFunction>(name: string, fn: F, given: GuardOptions<F> = {}) {
    check.fn(`the tool ${quoted(name)}`, fn);
    return guardFunction(runner, targetOf(works, name, given as GuardOptions), fn, given);
  }

  return {
    agent,
    session,
    guard: guardOne as Switchgear['guard'],
    guardAll: ((tools, given) => {
      const entries = check.entries('the tools', tools);
      return Object.fromEntries(entries.map(([name, fn]) => [name, guardOne(name, fn as AnyFunction, given)]));
    }) as Switchgear['guardAll'],
    task: ((given, run) => {
      check.fn('the task function', run);
      return runTask(host, runner, startNode(works, given ?? {}, around()), run);
    }) as Switchgear['task'],
    startTask: ((given = {}) => faceOf(host, startNode(works, given, around()))) as Switchgear['startTask'],
    currentTask() {
      const task = around();
      return task === undefined ? undefined : faceOf(host, task);
    },
    call: () => frameOf(runner.gear)?.call,
    admit: ((name, args, given = {}) => admitCall(runner, name, args, given)) as Switchgear['admit'],
    delegate: ((worker, run, given = {}) => {
      check.fn('the worker function', run);
      check.options('delegate options', given, delegateOptionNames);
      return delegate(runner, check.name('the name of a worker', worker), run, given);
    }) as Switchgear['delegate'],
    retry: ((run, given = {}) => retry(clock, run, given)) as Switchgear['retry'],
    watch: ((name, source, listener, given = {}) =>
      watchSource(
        { clock, notes, agent, observes: works.observes },
        check.name('the name of a watch', name),
        source,
        listener,
        given,
      )) as Switchgear['watch'],
  };
}

/** What whoever is responsible calls. */
function operations(works: Works) {
  const { clock, notes, store, breakers, tasks, guard, cards, asking } = works;
  const ensure = (name: string) => {
    if (breakers.named(name).length === 0) works.seating.lane(targetOf(works, name, {}), undefined);
  };
  const dispose = () => {
    for (const task of [...tasks.all()]) works.host.end(task, 'done');
    tasks.stop();
    for (const entry of breakers.all()) entry.healthCheck = undefined;
    store.close();
  };
  return {
    breaker: ((name) =>
      breakerHandle(
        { breakers, clock, alerts: () => works.settings.alerts, ensure },
        check.name('the name of a breaker', name),
      )) as Switchgear['breaker'],
    snapshot: () => snapshotOf(works),
    on: ((listener) => notes.on(listener)) as Switchgear['on'],
    journal: ((fromSeq = 0) => store.tail(check.whole('fromSeq', fromSeq, 0))) as Switchgear['journal'],
    halt: ((id, reason) => {
      for (const task of id === undefined ? [...tasks.all()] : [tasks.find(id)]) {
        if (task !== undefined) guard.halt(task, haltedByHand(reason), 'operator', clock.nowMs());
      }
    }) as Switchgear['halt'],
    answer: ((id, answer, by) => {
      const waiting = asking.open.get(id);
      const answers = store.card(id)?.kind === 'ask' && (answer === 'approve' || answer === 'decline');
      if (waiting !== undefined && answers) waiting({ approved: answer === 'approve', by });
      return cards.turn(id, { type: 'card-answered', atMs: clock.nowMs(), answer, by });
    }) as Switchgear['answer'],
    retryOf: ((id) => retryOptions(works.halted.get(id))) as Switchgear['retryOf'],
    reload: ((policy) => reload(works, policy)) as Switchgear['reload'],
    tighten: ((lines, chain) => tighten(works, lines, chain)) as Switchgear['tighten'],
    resetAll() {
      for (const entry of breakers.all()) breakers.reset(entry, clock.nowMs());
    },
    dispose,
    [Symbol.dispose]: dispose,
  };
}
