/** The sweep: one look a second at silent tasks, leases and callees, alive only while there is something to look at. */

import { patienceMaxMs, sweepMs } from '../../core/limits.ts';
import { countError } from '../journal/journal.ts';
import { keep, look } from '../route/admission.ts';
import type { Works } from '../runtime/runtime.ts';
import type { TaskNode } from './task.ts';

/** Makes sure that the sweep runs. */
export function wake(works: Works): void {
  works.disarm ??= works.clock.after(sweepMs, () => sweep(works));
}

/** Looks now, instead of when the next second is over. */
export function sweep(works: Works, atMs: number = works.clock.nowMs()): void {
  stopSweep(works);
  guarded(works, () => void works.obey?.(atMs));
  for (const task of works.tasks.values()) guarded(works, () => sweepTask(works, task, atMs));
  guarded(works, () => renewLeases(works, atMs));
  guarded(works, () => works.showing?.sweep(atMs));
  guarded(works, () => works.health?.sweep(works, atMs));
  if (isWanted(works)) wake(works);
}

export function stopSweep(works: Works): void {
  works.disarm?.();
  works.disarm = undefined;
}

/** Whether there is something to come back for. */
export function isWanted({ tasks, probes, health }: Works): boolean {
  return tasks.size > 0 || probes.size > 0 || !!health?.open.size;
}

/** A timer has no caller: what it throws would end the process. */
function guarded(works: Works, run: () => void): void {
  try {
    run();
  } catch (error) {
    countError(works, 'sweep', error);
  }
}

/** A task that never acted is looked at only once time alone could matter. */
function sweepTask(works: Works, task: TaskNode, atMs: number): void {
  const { noticeShare, maxDurationSecs, maxIdleSecs } = task.limits;
  const soonMs = 1000 * noticeShare * Math.min(maxDurationSecs, maxIdleSecs);
  if (task.seats !== undefined || atMs - task.cells.deadline.state.startedAtMs >= soonMs) look(works, task, atMs);
}

function renewLeases(works: Works, atMs: number): void {
  for (const call of works.probes) {
    // A lease says that the owner lives, not that the call may take for ever.
    if (atMs - call.permit.atMs <= patienceMaxMs) keep(works, 'permit-renewed', call.lane, call.permit);
    else works.probes.delete(call);
  }
}
