/** The panel, breaker and timeout of one target in one task, resolved once and kept until the settings change. */

import type { Action, ActionKind, RuleHit } from '../../core/action.ts';
import { getOrCreate, type Weight } from '../../core/bounded.ts';
import { cellKey } from '../../core/cell-key.ts';
import type { Control } from '../../core/control.ts';
import { bindToolLimit, isToolCall, toolBudget } from '../../core/controls/budget/tool-limit.ts';
import {
  type DelegationState,
  delegation,
  delegationOutsideTasks,
  isCounted,
} from '../../core/controls/delegation/delegation.ts';
import { bindDelegations, bindSharedControls, listFeatures } from '../../core/controls/panel.ts';
import { resolveBreaker } from '../../core/controls/resolve-settings.ts';
import type { BoundControl, Panel } from '../../core/decide.ts';
import type { FeatureDeclaration } from '../../core/declare/control-declaration.ts';
import type { EntryPlace } from '../../core/event.ts';
import { callSitesMax, patienceMaxMs } from '../../core/limits.ts';
import type { BreakerSettings, Settings } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import type { BudgetSet } from '../../ports/policy.ts';
import type { EntryPublisher } from '../../ports/sharing.ts';
import type { Cell, CellOptions } from '../../ports/store.ts';
import { type BreakerEntry, breakerAt } from '../breakers/breaker-registry.ts';
import { publishEntry, redactEntry, reportForgotten } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { halt } from '../tasks/halt.ts';
import { boundControlsOf, budgetSetOf, sessionOwnerOf, type TaskState } from '../tasks/task.ts';
import { type RetryPlan, readRetryPlan } from './recovery.ts';

/** A guarded name with the options of its code. */
export interface Target {
  readonly name: string;
  readonly kind: ActionKind;
  readonly overrides?: Partial<BreakerSettings> | undefined;
  /** The name of its breaker, if processes that share the breaker have another name for the target. */
  readonly breakerName?: string | undefined;
  /** Whether the arguments of its calls are unknown, so that calls cannot be compared. */
  readonly isOpaque?: boolean;
  /** The model, if the name has more than it. */
  readonly model?: string;
  /** How long a running call excuses the silence of its task. @default its time limit, at most 10 minutes */
  readonly patienceMs?: number;
  /** The effect of its calls on the world, if known without their input. */
  effect?: Pick<Action, 'effect'> | undefined;
  /** Returns the rules that fire before a call, if more than its arguments is known. */
  match?(args: readonly unknown[]): readonly RuleHit[];
}

export interface CallSite {
  readonly target: Target;
  readonly task: TaskState | undefined;
  readonly panel: Panel;
  /** The number of bound controls in the panel before those of the task, which a reload may replace. */
  readonly sharedControlCount: number;
  readonly breaker: BreakerEntry | undefined;
  readonly budgetSet: BudgetSet | undefined;
  /** The features of the arguments that the controls need. */
  readonly features: readonly FeatureDeclaration[];
  readonly timeoutMs: number;
  readonly patienceMs: number;
  /** How its failed calls are tried again, if they are. */
  readonly retry: RetryPlan | undefined;
  /** The place of its entries. */
  readonly place: EntryPlace;
  readonly agent: string;
  readonly session: string;
  /** The number of the settings it was made from; if the number differs, it must be made again. */
  readonly epoch: number;
  /** Whether its calls have started already; then the store is not refreshed before each. */
  readonly isPast?: boolean;
  /** Whether the caller takes a call back that would be refused. Then nothing is counted. */
  takeBack?(stop: Stop): boolean;
}

/** The shared target of a name without options, so that its call site is found again. */
export function targetFor({ targets }: Runtime, name: string, kind: ActionKind): Target {
  return getOrCreate(targets, `${kind} ${name}`, callSitesMax, () => ({ name, kind }));
}

export function callSiteFor(runtime: Runtime, target: Target, task: TaskState | undefined): CallSite {
  if (task !== undefined) task.callSites ??= new Map();
  const callSites = task?.callSites ?? runtime.callSites;
  let site = callSites.get(target);
  if (site?.epoch !== runtime.epoch || isForgotten(runtime, site)) {
    if (callSites.size >= callSitesMax) callSites.clear();
    site = makeCallSite(runtime, target, task);
    callSites.set(target, site);
  }
  return site!;
}

/** Drops all call sites after settings, rules or controls changed. */
export function resetCallSites(runtime: Runtime): void {
  runtime.epoch++;
  runtime.boundRules = undefined;
  runtime.callSites.clear();
}

/** Gives every breaker the settings in force now, because the health check of an open one runs without calls. */
export function resolveBreakersAgain(runtime: Runtime): void {
  for (const [key, { name, agent, overrides }] of [...runtime.breakers]) {
    const own = { ...overrides, ...runtime.tunings.get(name) };
    breakerAt(runtime, key, name, agent, resolveBreaker(runtime.settings, { tool: name, agent, overrides: own }));
  }
}

function makeCallSite(runtime: Runtime, target: Target, task: TaskState | undefined): CallSite {
  const { settings, tunings } = runtime;
  const { name, kind, breakerName = name } = target;
  const { agent, session } = task ?? runtime;
  const overrides = { ...target.overrides, ...tunings.get(name) };
  const own = resolveBreaker(settings, { tool: name, agent, overrides });
  const isWorker = kind === 'delegation';
  const breaker = isWorker
    ? undefined
    : breakerAt(runtime, breakerKey(runtime, target, own.scope, agent, session, task), breakerName, agent, own);
  if (breaker !== undefined) breaker.overrides = overrides;
  const place = { ...(task && { task: task.id }), session, agent, ...(breaker && { breaker: breaker.cell.key }) };
  const declared = bindSharedControls(settings, { target: name, session }, (control, key) =>
    boundedCell(runtime, cellKey(...key), () => control.initial(0)),
  );
  const custom = runtime.own?.beside(runtime, target, session) ?? [];
  const shared = [breaker, bindRules(runtime), ...declared, ...custom];
  if ((task !== undefined || isWorker) && isCounted(settings.delegation, target)) {
    shared.push(...bindWorker(runtime, task, name, place));
  }
  if (own.maxCalls !== undefined && task !== undefined && isToolCall(target))
    shared.push(bindToolLimit(name, own.maxCalls, task.cells.budget, task.limits));
  const inSession =
    isToolCall(target) && own.maxCallsSession !== undefined ? toolBudget(name, own.maxCallsSession) : undefined;
  if (inSession !== undefined) runtime.budgets ??= runtime.policyEngine?.createEmptyBudgets();
  const model = kind === 'model' ? (target.model ?? name) : undefined;
  const budgetSet = budgetSetOf(runtime, task ?? runtime, { tool: inSession, model });
  shared.push(...(budgetSet?.targetControls ?? []));
  const boundControls = shared.filter((bound) => bound !== undefined);
  const isTimed = kind === 'tool' || kind === 'step';
  const ownSettings = isTimed ? own : resolveOwn(settings, target, overrides);
  const { timeoutSecs } = ownSettings;
  const timeoutMs = (timeoutSecs ?? 0) * 1000;
  return {
    target,
    task,
    panel: [
      ...boundControls,
      ...(task === undefined ? (budgetSetOf(runtime, runtime)?.boundControls ?? []) : boundControlsOf(runtime, task)),
    ],
    sharedControlCount: boundControls.length,
    breaker,
    budgetSet,
    features: listFeatures(settings),
    timeoutMs,
    retry: readRetryPlan(ownSettings),
    patienceMs: target.patienceMs ?? (timeoutMs > 0 ? Math.min(timeoutMs, patienceMaxMs) : patienceMaxMs),
    place,
    agent,
    session,
    epoch: runtime.epoch,
  };
}

/** Binds the failures of a worker, and those of its catch-all type. */
function bindWorker(runtime: Runtime, task: TaskState | undefined, name: string, place: EntryPlace): Panel {
  const { store } = runtime;
  const { delegation: inTask } = runtime.settings;
  const settings = task === undefined ? delegationOutsideTasks(inTask, runtime.isSessionGiven) : inTask;
  const publisher = (counting: Control<DelegationState>, cell: Cell<DelegationState>): EntryPublisher => ({
    redact: (body) => redactEntry(runtime, body),
    publish(entry, body) {
      publishEntry(runtime, entry, body);
      // Other processes may have failed at the same time; the reply of the store contains their failures.
      const due = counting.check!(cell.state, entry.atMs);
      if (due.kind === 'halt' && task !== undefined) halt(runtime, task, due, name, entry.atMs);
    },
  });
  return bindDelegations(settings, name, (counting, worker, isJoint) => {
    const cell = workerCell(runtime, (task ?? runtime).session, worker);
    const owner = task && sessionOwnerOf(task);
    if (owner !== undefined) {
      owner.workers ??= new Set();
      owner.workers.add(cell.key);
    }
    const control =
      store.shared?.workers.bind(counting, cell, settings, place, isJoint ? undefined : publisher(counting, cell)) ??
      counting;
    return { control, cell, cellOwner: 'self' };
  });
}

/**
 * The timeout and retries of a model or delegation: none, unless `[tools]` names the model or the code sets them. The
 * clients of models have their own.
 */
function resolveOwn(
  { circuitBreaker, ...settings }: Settings,
  { name, kind }: Target,
  overrides: Partial<BreakerSettings>,
): BreakerSettings {
  const { timeoutSecs: _, ...general } = { ...circuitBreaker, retries: 0 };
  const tools = kind === 'model' ? settings.tools : {}; // A worker is no tool.
  return resolveBreaker({ ...settings, circuitBreaker: general, tools }, { tool: name, overrides });
}

/** The key of a breaker, by its scope; models have their own keys. */
function breakerKey(
  runtime: Runtime,
  { name: ownName, breakerName: name = ownName, kind }: Target,
  scope: BreakerSettings['scope'],
  agent: string,
  session: string,
  task: TaskState | undefined,
): string {
  if (kind === 'model') return cellKey('breaker', 'shared', 'model', name);
  if (scope === 'shared') return cellKey('breaker', 'shared', 'tool', name);
  if (scope === 'project') return cellKey('breaker', runtime.project, 'tool', name);
  const key = cellKey('breaker', runtime.project, scope, { agent, session, task: task?.id ?? session }[scope], name);
  if (scope === 'task' && task !== undefined) {
    task.breakers ??= new Set();
    task.breakers.add(key); // The breaker ends with its task.
  }
  return key;
}

function bindRules(runtime: Runtime): BoundControl | undefined {
  const control = runtime.rules?.control;
  if (control === undefined) return undefined;
  const cell = runtime.store.cell('rules', () => control.initial(0));
  runtime.boundRules ??= {
    control: runtime.store.shared?.rules.bind(control, runtime.project) ?? control,
    cell,
    cellOwner: 'self',
  };
  return runtime.boundRules;
}

/** The cell of a worker's failures in a session. */
export function workerCell(runtime: Runtime, session: string, worker: string): Cell<DelegationState> {
  const { store, settings } = runtime;
  const initial = () => delegation(settings.delegation).initial(0);
  return boundedCell(runtime, cellKey('worker', session, worker), initial, store.shared?.workers.cell);
}

/** A cell whose key holds a name from outside. Of too many, those of workers without failures are dropped first. */
function boundedCell<S>(runtime: Runtime, key: string, initial: () => S, shared?: CellOptions<S>): Cell<S> {
  const { namedCells, store } = runtime;
  const forgotten = namedCells.add(key, (other) => weighWorker(runtime, other));
  if (forgotten !== undefined) {
    store.drop(forgotten.key);
    if (forgotten.weight > 0) reportForgotten(runtime, 'failures of workers');
  }
  return store.cell(key, initial, shared);
}

/** What would be lost with a cell: the failures of a worker, or its trip. */
function weighWorker({ store, settings, clock }: Runtime, key: string): Weight {
  if (store.shared !== undefined || !key.startsWith('worker/')) return 0; // A shared store keeps the count.
  const control = delegation(settings.delegation);
  const [gauge] = control.gauges!(store.cell(key, () => control.initial(0)).state, clock.nowMs());
  return gauge === undefined ? 0 : gauge.actual >= gauge.limit ? 2 : 1;
}

/** Whether the failures of a worker were forgotten while a task that knows the worker went on. */
function isForgotten({ store }: Runtime, { target, panel }: CallSite): boolean {
  if (target.kind !== 'delegation' || store.shared !== undefined) return false;
  return panel.some(({ control, cell }) => {
    if (control.name !== 'delegation') return false;
    return store.cell((cell as Cell).key, () => cell.state) !== cell;
  });
}
