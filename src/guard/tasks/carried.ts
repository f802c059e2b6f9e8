/** A halted task as it can be carried to another process, to be tried again there with what it had used. */

import type { BudgetState } from '../../core/controls/budget/budget.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Switchgear } from '../api.ts';
import { runtimeOf } from '../runtime/runtime.ts';
import type { TaskState } from './task.ts';

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
