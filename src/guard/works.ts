/** The works of a gear: every part, put together once. */

import type { Control } from '../core/control.ts';
import { haltedTasksMax } from '../core/limits.ts';
import { sonnetPrices } from '../core/rates.ts';
import type { RuleEngine } from '../core/rule-engine.ts';
import type { BreakerSettings, Settings } from '../core/settings.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { memoryStore } from '../stores/memory.ts';
import type { Asking } from './approval.ts';
import * as check from './arguments.ts';
import { type Breakers, createBreakers } from './breakers.ts';
import { type Cards, createCards } from './cards.ts';
import { systemClock } from './clock.ts';
import type { Delegating } from './delegate.ts';
import type { SwitchgearOptions } from './front-door.ts';
import { createGuard, type Guard } from './guard.ts';
import { createHalting } from './halting.ts';
import { checkHealth } from './health.ts';
import { createLiveCalls } from './live-calls.ts';
import { logOf } from './log-target.ts';
import { type Notebook, notebook } from './notebook.ts';
import { failingClosed, type Harm, tolerant } from './own-controls.ts';
import { takePolicy } from './policy-engine.ts';
import { createSeating, type Seating } from './seating.ts';
import { checkSetUp } from './set-up.ts';
import { createSpending, type Spending } from './spending.ts';
import { startNode } from './starting.ts';
import { type TaskHost, taskHost } from './task-host.ts';
import type { TaskNode } from './task-node.ts';
import { runTask } from './task-run.ts';
import { createTasks, type Sweeper, type Tasks } from './tasks.ts';
import { timeouts } from './timeouts.ts';
import type { HostCalls } from './two-step.ts';

export interface Works {
  readonly options: SwitchgearOptions;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly agent: string;
  readonly session: string;
  readonly clock: Clock;
  readonly store: Store;
  /** In force now; a reload replaces them. */
  settings: Settings;
  rules: RuleEngine | undefined;
  readonly observes: () => boolean;
  readonly notes: Notebook;
  readonly cards: Cards;
  readonly guard: Guard;
  readonly breakers: Breakers;
  readonly tunings: Map<string, Partial<BreakerSettings>>;
  readonly seating: Seating;
  readonly tasks: Tasks & Sweeper;
  readonly spending: Spending;
  readonly asking: Asking;
  readonly runner: Delegating & HostCalls;
  readonly host: TaskHost;
  /** Tasks that were halted and may be tried again. */
  readonly halted: Map<string, TaskNode>;
  readonly nextId: () => number;
}

let gears = 0;

export function createWorks(options: SwitchgearOptions): Works {
  checkSetUp(options);
  const agent = options.agent === undefined ? 'agent' : check.name('agent', options.agent);
  const session =
    options.session === undefined ? `s-${process.pid}-${++gears}` : check.name('session', options.session);
  const project = options.project === undefined ? process.cwd() : check.name('project', options.project);
  const clock = options.clock ?? options.store?.clock ?? systemClock;
  const store = options.store ?? memoryStore(clock);
  const harm: Harm = { error: undefined };
  const ownControls = ((options.controls ?? []) as readonly Control<never>[]).map((control) =>
    tolerant(control, harm, (where, error) => notes.countError(where, error, clock.nowMs())),
  );
  const gear = {};
  const env = options.env ?? process.env;
  const loaded = takePolicy(options.policy, env);
  const { level, print } = logOf(options.log);
  const notes = notebook(store, loaded.settings.journal, level, print);
  for (const { name, value, used } of loaded.ignored) {
    notes.write({ type: 'setting-ignored', name, value, used: String(used ?? 'no such setting') }, {}, clock.nowMs());
  }
  let ids = 0;
  const nextId = () => ++ids;
  const settings = () => works.settings;
  const rules = () => works.rules;
  const observes = () => (options.mode ?? works.settings.mode) === 'observe';
  const halted = new Map<string, TaskNode>();
  const onHalt = (task: TaskNode) => {
    if (halted.size >= haltedTasksMax) halted.delete(halted.keys().next().value!);
    halted.set(task.id, task);
  };
  const cards = createCards(store, notes, () => `card-${session}-${nextId()}`);
  const plain = createGuard({ notes, observes, halting: createHalting({ notes, cards, observes, onHalt }) });
  const guard = ownControls.length === 0 ? plain : failingClosed(plain, harm);
  const breakers = createBreakers(store, notes);
  const tunings = new Map<string, Partial<BreakerSettings>>();
  const seating = createSeating({ store, breakers, agent, session, project, ownControls, settings, rules, tunings });
  const tasks = createTasks({
    store,
    notes,
    settings,
    ownControls,
    sweepTask: guard.sweep,
    afterSweep: (atMs) => {
      if (atMs === Number.NEGATIVE_INFINITY) return live.size > 0 || checkHealth(breakers, notes, clock, atMs);
      const probing = live.renew(atMs);
      return checkHealth(breakers, notes, clock, atMs) || probing;
    },
  });
  const live = createLiveCalls(guard, clock, tasks.wake);
  // A breaker may open outside any task, when no sweep is running that would ask after its callee.
  notes.on(({ type }) => {
    if (type === 'breaker-opened' && checkHealth(breakers, notes, clock, Number.NEGATIVE_INFINITY)) tasks.wake();
  });
  const spending = createSpending(options.prices ?? sonnetPrices, () => works.settings.prices, notes);
  const asking: Asking = {
    guard,
    cards,
    notes,
    clock,
    approver: options.approver,
    timeoutSecs: () => works.settings.approval.timeoutSecs,
    open: new Map(),
  };
  let toldMissing = false;
  const runner: Delegating & HostCalls = {
    gear,
    guard,
    seating,
    clock,
    notes,
    timeouts: timeouts(clock),
    live,
    spending,
    asking,
    throws: options.onRefusal === 'throw',
    rules,
    nextId,
    missingTask(name, atMs) {
      if (toldMissing) return;
      toldMissing = true;
      notes.write({ type: 'task-missing', name }, { session, agent }, atMs);
    },
    settings: () => works.settings.delegation,
    observes,
    runChild: (worker, parent, limits, run) => {
      const node = startNode(works, { agent: worker, ...(limits === undefined ? {} : { limits }) }, parent);
      return runTask(host, runner, node, (task) => run(task, node));
    },
    find: (id) => tasks.find(id) ?? halted.get(id),
    admitted: new Map(),
  };
  const tokenCap = () => works.settings.loop.tokenCap;
  const host = taskHost({ gear, clock, guard, notes, spending, tokenCap, tasks, breakers });
  const works: Works = {
    options,
    env,
    agent,
    session,
    clock,
    store,
    settings: loaded.settings,
    rules: loaded.rules,
    observes,
    notes,
    cards,
    guard,
    breakers,
    tunings,
    seating,
    tasks,
    spending,
    asking,
    runner,
    host,
    halted,
    nextId,
  };
  return works;
}
