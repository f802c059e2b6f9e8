/**
 * A task between two processes, where none outlives a call: everything of it that decides, as plain JSON. What it said
 * is not kept, since nobody who works so hears its words.
 */

import type { BudgetState } from '../../core/controls/budget/budget.ts';
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

/** The task as it can be kept. What an operator's pause holds is let go: whoever thaws it looks at the orders anew. */
export function freezeTask(runtime: Runtime, node: TaskState): FrozenTask {
  while (node.pauses > 0) resumeTask(runtime, node);
  const { id, agent, session, parent, limits, cells, raises, suspected, loopHint: note, haltStop, halt } = node;
  return {
    id,
    agent,
    session,
    ...(parent && { parent: parent.id }),
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

/** The task as it was, below its parent. It goes on: nothing is said of it. */
export function thawTask(runtime: Runtime, frozen: FrozenTask, parent: TaskState | undefined): TaskState {
  const { id, agent, session, limits, raises, suspected, note, haltStop, halt, booked, noticed } = frozen;
  const cells = structuredClone(frozen.cells); // What it becomes must not be seen where it was read.
  const depth = parent === undefined ? 0 : parent.depth + 1;
  const controls = taskControlsFor(runtime, limits);
  const node = placeTask(runtime, {
    ...{ id, agent, session, parent, depth, limits, givenLimits: limits, controls, raises },
    cells: { ...cells, own: cells.own },
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

/** A task that another process began and told of: this one counts along with it. */
export function joinTask(
  runtime: Runtime,
  task: Pick<TaskState, 'id' | 'agent' | 'session' | 'parent'>,
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
  /** What halted it; absent where it was not halted, as when its process was killed. */
  readonly stop?: Stop;
}

/** What a task has used so far, and why it was halted; undefined for one that nobody knows. */
export function captureTask(gear: Switchgear, task: string): CarriedTask | undefined {
  const runtime = runtimeOf(gear);
  const node = runtime.tasks.get(task) ?? runtime.halted.get(task);
  if (node === undefined) return undefined;
  const { limits, raises, haltStop: stop, cells } = node;
  return { limits, raises, budget: { ...cells.budget.state }, ...(stop && { stop }) };
}

/** Has this gear know a task of another process, as if it had been halted here. */
export function adoptHaltedTask(
  gear: Switchgear,
  { task: id, agent, session }: { readonly task: string; readonly agent: string; readonly session: string },
  { limits, raises, budget, stop = lost }: CarriedTask,
): void {
  const cells = { budget: { state: budget } };
  runtimeOf(gear).halted.set(id, { id, agent, session, limits, raises, haltStop: stop, cells } as unknown as TaskState);
}

/** One that was lost ran into no limit: none is raised. */
const lost: Stop = { kind: 'halt', code: 'internal_error', control: 'supervisor', counters: {} };

/** Ends a task that another process reports as ended: no entry is written here. */
export function endSilently(task: TaskState): void {
  task.ended = true;
}

/** Forgets the tasks of this process. Another process goes on with them, as they were frozen. */
export function forgetTasks(runtime: Runtime): void {
  runtime.tasks.clear();
  stopSweep(runtime);
}
