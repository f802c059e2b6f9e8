/**
 * Transfers tasks between processes: the state that decisions need, as plain JSON. Texts are not kept, because hooks
 * do not see them.
 */

import type { BudgetState } from '../../core/controls/budget/budget.ts';
import { restoreLoop } from '../../core/controls/loop/state.ts';
import { initialTaskCells, type TaskCells } from '../../core/controls/panel.ts';
import { resolveTask } from '../../core/controls/resolve-settings.ts';
import { hookAgentsMax } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Switchgear } from '../api.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { runtimeOf } from '../runtime/runtime.ts';
import { stopSweep } from './sweep.ts';
import type { TaskState } from './task.ts';
import { placeTask, resumeTask, taskControlsFor } from './task-tree.ts';

/** Plain JSON. */
export interface FrozenTask {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent?: string;
  readonly delegated?: boolean;
  readonly limits: TaskSettings;
  readonly cells: TaskCells;
  readonly raises: number;
  readonly suspected: boolean;
  readonly note?: string;
  readonly haltStop?: Stop;
  readonly halt?: Refusal;
  readonly booked: readonly string[];
  readonly noticed: readonly string[];
}

/**
 * Converts a task to its stored form. Pauses by operator orders are left out, because the next process reads the
 * orders again.
 */
export function freezeTask(runtime: Runtime, node: TaskState): FrozenTask {
  while (node.pauses > 0) resumeTask(runtime, node);
  const { id, agent, session, parent, limits, cells, raises, suspected, loopHint: note, haltStop, halt } = node;
  return {
    id,
    agent,
    session,
    ...(parent && { parent: parent.id }),
    ...(node.isDelegated && { delegated: true }),
    limits,
    cells,
    raises,
    suspected,
    ...(note !== undefined && { note }),
    ...(haltStop && { haltStop }),
    ...(halt && { halt }),
    booked: [...(node.booked ?? [])].slice(0, hookAgentsMax),
    noticed: [...(node.noticed ?? [])],
  };
}

/** Restores a task under its parent, without an entry. */
export function thawTask(runtime: Runtime, frozen: FrozenTask, parent: TaskState | undefined): TaskState {
  const { id, agent, session, limits, raises, suspected, note, haltStop, halt, booked, noticed } = frozen;
  const isDelegated = frozen.delegated === true;
  const cells = structuredClone(frozen.cells); // Copied, so that changes do not affect the stored state.
  const { loop } = cells;
  const depth = parent === undefined ? 0 : parent.depth + 1;
  const controls = taskControlsFor(runtime, limits);
  const node = placeTask(runtime, {
    ...{ id, agent, session, parent, depth, limits, givenLimits: limits, controls, raises, isDelegated },
    cells: { ...cells, own: cells.own, ...(loop && { loop: { ...loop, state: restoreLoop(loop.state) } }) },
  });
  node.suspected = suspected;
  node.loopHint = note;
  node.haltStop ??= haltStop;
  node.halt ??= halt;
  if (booked.length > 0) node.booked = new Set(booked);
  if (noticed.length > 0) node.noticed = new Set(noticed);
  if (node.haltStop !== undefined) runtime.halted.set(id, node);
  return node;
}

/** Joins a task that another process started and reports. */
export function joinTask(
  runtime: Runtime,
  task: Pick<TaskState, 'id' | 'agent' | 'session' | 'parent' | 'isDelegated'>,
  limitOverrides: Partial<TaskSettings>,
): TaskState {
  const { agent, parent } = task;
  const limits = resolveTask(runtime.settings, agent, limitOverrides);
  const controls = taskControlsFor(runtime, limits);
  const cells = initialTaskCells(controls, runtime.clock.nowMs());
  const depth = parent === undefined ? 0 : parent.depth + 1;
  return placeTask(runtime, { ...task, depth, limits, givenLimits: limitOverrides, controls, cells, raises: 0 });
}

/** Plain JSON. */
export interface CarriedTask {
  readonly limits: TaskSettings;
  readonly raises: number;
  readonly budget: BudgetState;
  /** The stop that halted the task; absent if its process was killed. */
  readonly stop?: Stop;
}

/** The counters of a task and the reason of its halt; undefined if the id is unknown. */
export function captureTask(gear: Switchgear, task: string): CarriedTask | undefined {
  const runtime = runtimeOf(gear);
  const node = runtime.tasks.get(task) ?? runtime.halted.get(task);
  if (node === undefined) return undefined;
  const { limits, raises, haltStop: stop, cells } = node;
  return { limits, raises, budget: { ...cells.budget.state }, ...(stop && { stop }) };
}

/** Registers a halted task of another process as if it had been halted here. */
export function adoptHaltedTask(
  gear: Switchgear,
  run: Pick<TaskState, 'agent' | 'session' | 'card'> & { readonly task: string },
  { limits, raises, budget, stop = lost }: CarriedTask,
): void {
  const { task: id, agent, session } = run;
  const card = runtimeOf(gear).halted.get(id)?.card ?? run.card;
  const cells = { budget: { state: budget } };
  const halted = { id, agent, session, limits, raises, haltStop: stop, cells, ...(card !== undefined && { card }) };
  runtimeOf(gear).halted.set(id, halted as TaskState);
}

/** The stop of a lost task, which reached no limit, so none is raised. */
const lost: Stop = { kind: 'halt', code: 'internal_error', control: 'supervisor', counters: {} };

/** Ends a task that another process reports as ended: no entry is written here. */
export function endSilently(task: TaskState): void {
  task.ended = true;
}

/** Removes the tasks of this process. Another process continues with their stored state. */
export function forgetTasks(runtime: Runtime): void {
  runtime.tasks.clear();
  stopSweep(runtime);
}
