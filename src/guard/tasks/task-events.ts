/** Events of a task: each is journalled and applied to the task's controls; then the limits are checked. */

import type { Cost, Permit } from '../../core/action.ts';
import { weigh } from '../../core/controls/loop/turns.ts';
import { applyAll, checkAll } from '../../core/decide.ts';
import type { ControlEvent, EntryBody } from '../../core/event.ts';
import { appendEntry } from '../journal/journal.ts';
import type { CallSite } from '../route/call-site.ts';
import { countCost } from '../runtime/process-counts.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { halt, hintLoop, warnNearLimit } from './halt.ts';
import { askOrHalt } from './limit-question.ts';
import { boundControlsOf, budgetSetOf, entryPlace, type TaskState } from './task.ts';

/** The events of a task; each entry contains at least the data that controls need. */
type TaskEvent = Extract<
  EntryBody,
  { type: Exclude<ControlEvent['type'], `action-${string}` | 'delegation-returned'> }
>;

/** Writes the entry of an event and applies the event to the task's controls. */
export function applyEvent(runtime: Runtime, task: TaskState, event: TaskEvent, atMs: number): void {
  if (task.isCountedElsewhere === true) {
    const cells: ReadonlySet<unknown> = new Set(Object.values(task.cells));
    const own = boundControlsOf(runtime, task).filter(({ cell }) => cells.has(cell));
    applyAll(own, { ...event, atMs });
    return;
  }
  appendEntry(runtime, event, entryPlace(task), atMs);
  applyAll(boundControlsOf(runtime, task), { ...event, atMs });
  if (event.type !== 'usage-observed') return;
  countCost(runtime, event.cost);
  const ofModel = budgetSetOf(runtime, task, { model: event.model })?.targetControls;
  if (ofModel !== undefined && ofModel.length > 0) applyAll(ofModel, { ...event, atMs });
}

/** Applies an event to a task and checks its limits. */
export function applyAndCheck(runtime: Runtime, task: TaskState, event: TaskEvent, atMs: number): void {
  applyEvent(runtime, task, event, atMs);
  checkLimits(runtime, task, atMs);
}

/** Checks the limits of a task without an event. */
export function checkLimits(runtime: Runtime, task: TaskState, atMs: number): void {
  if (task.haltStop !== undefined || task.ended) return;
  const due = checkAll(boundControlsOf(runtime, task), atMs);
  if (due.kind === 'halt') halt(runtime, task, due, due.control, atMs);
  else if (due.kind === 'ask' && due.raise !== undefined) askOrHalt(runtime, task, due, due.control, atMs);
  else {
    warnNearLimit(runtime, task, atMs);
    if (task.suspected || isStale(task)) hintLoop(runtime, task, atMs);
  }
}

/** Records that a lease was renewed, or that the work of a call that was given up ended, with its cost. */
export function recordPermitEvent(
  runtime: Runtime,
  type: 'work-ended' | 'permit-renewed',
  site: CallSite,
  permit: Permit,
  cost?: Cost,
): void {
  const atMs = runtime.clock.nowMs();
  countCost(runtime, cost);
  const event = { type, permit, ...(cost && { cost }) };
  applyAll(site.panel, { ...event, atMs });
  appendEntry(runtime, event, site.place, atMs);
}

/** Whether the last turn or call of a task brought nothing new. */
export function isStale(task: TaskState | undefined): boolean {
  const memory = task?.cells.loop?.state.memory ?? null;
  if (memory === null) return false;
  if (memory.apologies > 0) return true;
  const last = memory.turns.at(-1);
  return (last !== undefined && weigh(last) > 0) || (memory.pastCalls.at(-1)?.times ?? 1) > 1;
}
