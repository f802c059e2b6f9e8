/** The sweep: one look a second at silent tasks, leases and callees, alive only while there is something to look at. */

import { patienceMaxMs, sweepMs } from '../../core/limits.ts';
import { countError } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { TaskState } from './task.ts';
import { checkLimits, recordPermitEvent } from './task-events.ts';

/** Makes sure that the sweep runs. */
export function ensureSweep(runtime: Runtime): void {
  runtime.cancelSweep ??= runtime.clock.after(sweepMs, () => sweep(runtime));
}

/** Looks now, instead of when the next second is over. */
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

/** Whether there is something to come back for. */
export function hasWork({ tasks, probes, health }: Runtime): boolean {
  return tasks.size > 0 || probes.size > 0 || !!health?.open.size;
}

/** A timer has no caller: what it throws would end the process. */
function runSwallowing(runtime: Runtime, run: () => void): void {
  try {
    run();
  } catch (error) {
    countError(runtime, 'sweep', error);
  }
}

/** A task that never acted is looked at only once time alone could matter. */
function sweepTask(runtime: Runtime, task: TaskState, atMs: number): void {
  const { noticeShare, maxDurationSecs, maxIdleSecs } = task.limits;
  const soonMs = 1000 * noticeShare * Math.min(maxDurationSecs, maxIdleSecs);
  if (task.boundControls !== undefined || atMs - task.cells.deadline.state.startedAtMs >= soonMs)
    checkLimits(runtime, task, atMs);
}

function renewLeases(runtime: Runtime, atMs: number): void {
  for (const call of runtime.probes) {
    // A lease says that the owner lives, not that the call may take for ever.
    if (atMs - call.permit.atMs <= patienceMaxMs) recordPermitEvent(runtime, 'permit-renewed', call.site, call.permit);
    else runtime.probes.delete(call);
  }
}
