/** What a halted run carries to its next attempt: what it had used, and which limit is raised. */

import type { Refusal } from '../../core/refusal.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Switchgear } from '../../guard/api.ts';
import type { CarriedTask } from '../../guard/internal.ts';
import type { SubagentLimits } from '../../supervisor/run-record.ts';

/** What a subagent may have next time that ran into its own limit. */
export function raiseSubagentLimits(
  gear: Switchgear,
  root: string,
  { task = root }: Refusal,
): SubagentLimits | undefined {
  const retry = task === root ? undefined : gear.retryOptions(task);
  return retry?.agent && retry.limits ? { [retry.agent]: retry.limits as TaskSettings } : undefined;
}

/** What it had used, with what came in after the halt; a subagent's leaves the limits of the run as they are. */
export function addLateSpending(
  { budget, stop: ownStop, ...rest }: CarriedTask,
  halt: Refusal,
  lateMicros: number,
): CarriedTask {
  const { code, control, counters } = halt;
  const stop = ownStop ?? { kind: 'halt', code, control, counters: { ...counters, scope: 'subagent' } };
  return { ...rest, stop, budget: { ...budget, micros: budget.micros + lateMicros } };
}
