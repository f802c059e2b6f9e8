/** Counts the model usage that a framework reports, and tells once which usage is estimated. */

import { reportedNamesMax } from '../../core/limits.ts';
import type { Switchgear, Task } from '../api.ts';
import { appendEntry, countError } from '../journal/journal.ts';
import { runtimeOf } from '../runtime/runtime.ts';
import { boundedModelName, type PricedUsage, priceUsage } from '../tasks/cost.ts';
import { entryPlace } from '../tasks/task.ts';
import { applyAndCheck } from '../tasks/task-events.ts';
import { nodeOf } from './host-call.ts';

/** Counts the usage of a host's model call, also in a halted task, whose closing answer is not free. */
export function recordUsage(gear: Switchgear, task: Task, usage: PricedUsage): void {
  const runtime = runtimeOf(gear);
  const node = task.halt === undefined ? undefined : nodeOf(runtime, task);
  if (node === undefined) {
    task.observe({ type: 'usage', ...usage });
    return;
  }
  try {
    const atMs = runtime.clock.nowMs();
    const model = boundedModelName(usage.model);
    const cost = priceUsage(runtime, usage, entryPlace(node), atMs);
    applyAndCheck(runtime, node, { type: 'usage-observed', model, cost, basis: model }, atMs);
  } catch (error) {
    countError(runtime, 'observe', error);
  }
}

/**
 * Reports once for each model that its tokens are estimated.
 * @param remedy the setting that makes the host report them; undefined if an answer broke off
 */
export function reportEstimate(gear: Switchgear, task: Task, modelName: string, remedy: string | undefined): void {
  const runtime = runtimeOf(gear);
  const { reportedOnce } = runtime;
  const model = boundedModelName(modelName);
  const cause = remedy === undefined ? 'cut' : 'hidden';
  const mark = `usage-estimated ${cause} ${model}`;
  if (reportedOnce.has(mark) || reportedOnce.size >= reportedNamesMax) return;
  reportedOnce.add(mark);
  const node = nodeOf(runtime, task);
  const body = { type: 'usage-estimated', model, cause, ...(remedy !== undefined && { remedy }) } as const;
  appendEntry(runtime, body, node && entryPlace(node));
}
