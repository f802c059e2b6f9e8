/** The sweep: checks silent tasks, leases and health checks once a second, while there are any. */

import { patienceMaxMs, sweepMs } from '../../core/limits.ts';
import { countError } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { TaskState } from './task.ts';
import { checkLimits, recordPermitEvent } from './task-events.ts';

/** Starts the sweep if it is not running. */
export function ensureSweep(runtime: Runtime): void {
  runtime.cancelSweep ??= runtime.clock.after(sweepMs, () => sweep(runtime));
}

/** Runs the sweep now. */
export function sweep(runtime: Runtime, atMs: number = runtime.clock.nowMs()): void {
  stopSweep(runtime);
  runSwallowing(runtime, () => void runtime.applyOrders?.(atMs));
  for (const task of runtime.tasks.values()) runSwallowing(runtime, () => sweepTask(runtime, task, atMs));
  runSwallowing(runtime, () => renewLeases(runtime, atMs));
  runSwallowing(runtime, () => runtime.showing?.sweep(atMs));
  runSwallowing(runtime, () => runtime.health?.sweep(runtime, atMs));
  if (hasWork(runtime)) ensureSweep(runtime);
}

export function stopSweep(runtime: Runtime): void {
  runtime.cancelSweep?.();
  runtime.cancelSweep = undefined;
}

/** Whether another sweep is needed. */
export function hasWork({ tasks, probes, health }: Runtime): boolean {
  return tasks.size > 0 || probes.size > 0 || !!health?.open.size;
}

/** Runs a function and counts its errors, because an error in a timer would end the process. */
function runSwallowing(runtime: Runtime, run: () => void): void {
  try {
    run();
  } catch (error) {
    countError(runtime, 'sweep', error);
  }
}

/** Checks a task. A task without any action is checked only when a time limit may be reached. */
function sweepTask(runtime: Runtime, task: TaskState, atMs: number): void {
  const { noticeShare, maxDurationSecs, maxIdleSecs } = task.limits;
  const soonMs = 1000 * noticeShare * Math.min(maxDurationSecs, maxIdleSecs);
  if (task.boundControls !== undefined || atMs - task.cells.deadline.state.startedAtMs >= soonMs)
    checkLimits(runtime, task, atMs);
}

function renewLeases(runtime: Runtime, atMs: number): void {
  for (const call of runtime.probes) {
    // Renewing a lease must not let a call run for ever.
    if (atMs - call.permit.atMs <= patienceMaxMs) recordPermitEvent(runtime, 'permit-renewed', call.site, call.permit);
    else runtime.probes.delete(call);
  }
}
