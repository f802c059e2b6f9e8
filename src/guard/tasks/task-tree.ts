/** The tree of tasks: starts, pauses, resumes and ends tasks, and makes their snapshots. */

import { getOrCreate } from '../../core/bounded.ts';
import { cellKey, ownSession } from '../../core/cell-key.ts';
import { type BudgetState, continueBudget } from '../../core/controls/budget/budget.ts';
import { durationOf, idleOf } from '../../core/controls/deadline.ts';
import { createTaskControls, initialTaskCells, type TaskCells, type TaskControls } from '../../core/controls/panel.ts';
import { resolveTask } from '../../core/controls/resolve-settings.ts';
import { taskFields } from '../../core/controls/sections.ts';
import { checkSettingOverrides } from '../../core/declare/setting-overrides.ts';
import { SwitchgearError } from '../../core/error.ts';
import { sharedSettingsMax, taskDepthMax, tasksMax } from '../../core/limits.ts';
import { toUsd } from '../../core/prices/builtin-prices.ts';
import { quoteValue } from '../../core/quote.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { PayingKey } from '../../ports/policy.ts';
import type { TaskOptions, TaskSnapshot } from '../api.ts';
import { dropBreaker } from '../breakers/breaker-registry.ts';
import { appendEntry } from '../journal/journal.ts';
import { type Checks, isA, signal as isSignal, name, options } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { cancelTask, touchParent } from './halt.ts';
import { ensureSweep, hasWork, stopSweep } from './sweep.ts';
import { boundControlsOf, entryPlace, type TaskState } from './task.ts';
import { applyAndCheck } from './task-events.ts';

const checks: Checks = {
  id: name,
  agent: name,
  session: name,
  parent: isA,
  limits: isA,
  signal: isSignal,
  retryOf: isA,
  delegated: isA,
  spent: isA,
  key: isA,
};

/** The fields that a task has from its start. */
type PlacedTask = Pick<
  TaskState,
  | 'id'
  | 'agent'
  | 'session'
  | 'parent'
  | 'depth'
  | 'limits'
  | 'givenLimits'
  | 'controls'
  | 'cells'
  | 'raises'
  | 'isDelegated'
  | 'key'
>;

/** The options of a task, and what only the engine says of it. */
export type TaskStart = TaskOptions & {
  readonly retryOf?: string;
  readonly delegated?: boolean;
  /** What the task has spent in a process before. */
  readonly spent?: Partial<BudgetState>;
  /** The key of the gateway that pays; by default that of its parent. */
  readonly key?: PayingKey | undefined;
};

/** Starts a task: checked, placed in the tree, with the limits of its agent and its own. */
export function startTask(runtime: Runtime, taskOptions: TaskStart, around: TaskState | undefined): TaskState {
  const { settings, tasks, clock, store } = runtime;
  options('task options', taskOptions, checks);
  const { signal } = taskOptions;
  const said =
    taskOptions.limits === undefined
      ? undefined
      : checkSettingOverrides(taskFields, settings.task, taskOptions.limits, 'limits');
  const parent = parentOf(runtime, taskOptions, around);
  const isDelegated = taskOptions.delegated === true;
  const id = taskOptions.id ?? `t-${runtime.idStem}-${++runtime.ids}`;
  const agent = taskOptions.agent ?? (parent ?? runtime).agent;
  const depth = parent === undefined ? 0 : parent.depth + 1;
  const key = taskOptions.key ?? parent?.key;
  if (tasks.has(id))
    throw new SwitchgearError(
      'task_exists',
      `a task with the id ${quoteValue(id)} is running: end it first, or give another id`,
    );
  if (tasks.size >= tasksMax)
    throw new SwitchgearError(
      'too_many_tasks',
      `at most ${tasksMax} tasks can run at once: end those of startTask() that are done`,
    );
  if (depth >= taskDepthMax) {
    throw new SwitchgearError(
      'too_deep',
      `tasks can be nested ${taskDepthMax} deep at most: do the work in the task at hand`,
    );
  }
  const before = taskOptions.retryOf === undefined ? undefined : runtime.halted.get(taskOptions.retryOf);
  const session =
    taskOptions.session ?? (parent ?? before)?.session ?? (runtime.isSessionGiven ? runtime.session : ownSession(id));
  const limits = resolveTask(settings, agent, said);
  const controls = taskControlsFor(runtime, limits);
  const atMs = clock.nowMs();
  const { state: cells } = store.cell<TaskCells>(cellKey('task', id), () => initialTaskCells(controls, atMs));
  if (before !== undefined) continueBudget(cells.budget.state, before.cells.budget.state);
  Object.assign(cells.budget.state, taskOptions.spent);
  const raises = before === undefined ? 0 : before.raises + 1;
  const node = placeTask(runtime, {
    id,
    agent,
    session,
    parent,
    depth,
    limits,
    givenLimits: said,
    controls,
    cells,
    raises,
    isDelegated,
    key,
  });
  const paying = key === undefined ? {} : { key: key.name };
  const started = { type: 'task-started', limits, ...placeIn(parent, isDelegated), ...paying } as const;
  appendEntry(runtime, before === undefined ? started : { ...started, retryOf: before.id }, entryPlace(node), atMs);
  if (signal !== undefined) {
    const abort = () => cancelTask(runtime, node, signal.reason);
    if (signal.aborted) abort();
    else {
      signal.addEventListener('abort', abort, { once: true });
      // Remove the listener, because a signal may outlive many tasks.
      node.removeAbortListener = () => signal.removeEventListener('abort', abort);
    }
  }
  return node;
}

/** The parent of a task in its entry, and whether the program opened the child task itself. */
function placeIn(
  parent: TaskState | undefined,
  isDelegated: boolean,
): { readonly parent?: string; readonly own?: true } {
  if (parent === undefined) return {};
  return isDelegated ? { parent: parent.id } : { parent: parent.id, own: true };
}

/** Adds a task to the tree; the caller writes the entry. */
export function placeTask(runtime: Runtime, taskOptions: PlacedTask): TaskState {
  const { id, parent, limits } = taskOptions;
  const node: TaskState = {
    ...taskOptions,
    boundControls: undefined,
    callSites: undefined,
    breakers: undefined,
    workers: undefined,
    burst: undefined,
    children: undefined,
    // A task under a halted parent is halted from the start.
    haltStop: parent?.haltStop,
    halt: parent?.halt,
    ended: false,
    ending: undefined,
    removeAbortListener: undefined,
    signal: undefined,
    cancelReason: parent?.cancelReason,
    recentOutput: undefined,
    loopHint: undefined,
    suspected: false,
    prompts: undefined,
    counted: undefined,
    booked: undefined,
    noticed: undefined,
    noticeCalls: noticeCalls(limits),
    pauses: 0,
    handle: undefined,
  };
  if (runtime.own !== undefined) boundControlsOf(runtime, node);
  if (parent !== undefined) {
    parent.children ??= new Set();
    parent.children.add(node);
  }
  runtime.tasks.set(id, node);
  ensureSweep(runtime);
  return node;
}

/**
 * The parent by id, or else the nearest surrounding task that has not ended, because a halt does not reach children
 * of an ended task.
 */
function parentOf({ tasks }: Runtime, { parent }: TaskOptions, around: TaskState | undefined): TaskState | undefined {
  if (parent === null) return undefined;
  if (parent === undefined) {
    let living = around;
    while (living?.ended && living.parent !== undefined) living = living.parent;
    return living;
  }
  const found = tasks.get(parent);
  if (found === undefined) throw new SwitchgearError('unknown_task', unknownTaskMessage(parent));
  return found;
}

export function unknownTaskMessage(id: unknown): string {
  return `no task with the id ${quoteValue(id)} is running`;
}

/** The controls of a task; tasks with equal limits share them. */
export function taskControlsFor(runtime: Runtime, limits: TaskSettings): TaskControls {
  const make = () => createTaskControls(runtime.settings, limits);
  return getOrCreate(runtime.taskControls, JSON.stringify(limits), sharedSettingsMax, make);
}

export function noticeCalls(limits: TaskSettings): number {
  return limits.maxToolCalls * limits.noticeShare;
}

/** Pauses a task: idle time and duration stop. */
export function pauseTask(runtime: Runtime, task: TaskState): void {
  if (task.ended) return;
  task.pauses++;
  applyAndCheck(runtime, task, { type: 'task-stopped' }, runtime.clock.nowMs());
}

export function resumeTask(runtime: Runtime, task: TaskState): void {
  if (task.pauses === 0) return; // Pauses of other kinds are not ended here.
  task.pauses--;
  applyAndCheck(runtime, task, { type: 'task-resumed' }, runtime.clock.nowMs());
}

export function endTask(runtime: Runtime, task: TaskState, how: 'done' | 'error' = 'done'): void {
  if (task.ended) return;
  releaseHoldings(runtime, task);
  markEnded(runtime, task, how);
  if (task.parent !== undefined) touchParent(runtime, task.parent, runtime.clock.nowMs());
  if (!hasWork(runtime)) stopSweep(runtime);
}

/** Releases the pauses of a task before it ends, so that its ancestors do not stay paused. */
function releaseHoldings(runtime: Runtime, task: TaskState): void {
  for (const child of task.children ?? []) releaseHoldings(runtime, child);
  while (task.pauses > 0) resumeTask(runtime, task);
  for (const key of task.breakers ?? []) dropBreaker(runtime, key);
}

/** Drops the failures of workers of a conversation that is over. */
function dropWorkers({ namedCells, store }: Runtime, { workers }: TaskState): void {
  for (const key of workers ?? []) {
    namedCells.delete(key);
    store.drop(key);
  }
}

function markEnded(runtime: Runtime, task: TaskState, how: 'done' | 'error'): void {
  if (task.ended) return;
  for (const child of task.children ?? []) markEnded(runtime, child, how);
  task.ended = true;
  withdrawQuestions(runtime, task);
  runtime.tasks.delete(task.id);
  task.parent?.children?.delete(task);
  task.removeAbortListener?.();
  runtime.store.drop(cellKey('task', task.id));
  if (task.haltStop === undefined) dropWorkers(runtime, task);
  appendEntry(runtime, { type: 'task-ended', how: task.haltStop === undefined ? how : 'halted' }, entryPlace(task));
}

/** Ends the wait of calls that ask a person: nobody is asked for a task that has ended. */
function withdrawQuestions({ waiting, store }: Runtime, task: TaskState): void {
  for (const [id, finish] of waiting) if (typeof id === 'string' && store.card(id)?.task === task.id) finish();
}

export function snapshotTask(runtime: Runtime, task: TaskState, atMs: number): TaskSnapshot {
  const { id, agent, session, parent, halt, cells } = task;
  const budget = cells.budget.state;
  const deadline = cells.deadline.state;
  return {
    id,
    agent,
    session,
    ...(parent && { parent: parent.id }),
    toolCalls: budget.calls,
    spendUsd: toUsd(budget.micros),
    ...(budget.guessedMicros !== undefined && { guessedUsd: toUsd(budget.guessedMicros) }),
    ...(budget.estimatedMicros !== undefined && { estimatedUsd: toUsd(budget.estimatedMicros) }),
    tokens: budget.tokens,
    durationMs: durationOf(deadline, atMs),
    idleMs: idleOf(deadline, atMs),
    gauges: boundControlsOf(runtime, task).flatMap(
      ({ control, cell, cellOwner }) => (cellOwner === 'self' && control.gauges?.(cell.state, atMs)) || [],
    ),
    ...(halt && { halt }),
  };
}
