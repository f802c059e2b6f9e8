/** Makes the action of a call: features of its arguments, never the arguments. */

import type { Action } from '../../core/action.ts';
import { toMicros } from '../../core/prices/builtin-prices.ts';
import { requireSync } from '../../core/thenable.ts';
import type { GuardOptions, MaxCost } from '../call-options.ts';
import { appendEntry } from '../journal/journal.ts';
import { callKey, fingerprint, markEffect } from '../runtime/fingerprint.ts';
import { options as checkOptions, maxCostChecks } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { recordCall } from '../tasks/recent-output.ts';
import type { CallSite } from './call-site.ts';

export function makeAction(
  runtime: Runtime,
  site: CallSite,
  args: readonly unknown[],
  options: GuardOptions,
  id?: string,
  turnId?: string,
): Action {
  const { target, task } = site;
  const worst =
    typeof options.maxCost === 'function'
      ? checkMaxCost(requireSync('maxCost', options.maxCost(...args)))
      : options.maxCost;
  const plain: { -readonly [name in keyof Action]: Action[name] } = {
    id: id ?? (runtime.store.shared === undefined ? ++runtime.ids : `${runtime.idStem}-${++runtime.ids}`),
    kind: target.kind,
    name: target.name,
    agent: site.agent,
    session: site.session,
    // Delegated work is compared by its result, and calls with unknown arguments not at all.
    fingerprint:
      task === undefined || target.kind === 'delegation'
        ? 0
        : target.isOpaque
          ? ++runtime.ids
          : fingerprint(target.name, args),
    worstMicros: worst === undefined ? 0 : toMicros(boundedCost(worst.usd)),
    worstTokens: worst === undefined ? 0 : boundedCost(worst.tokens),
    patienceMs: site.patienceMs,
    task: task?.id as string, // Readers treat absent and undefined alike; one object shape is faster.
  };
  runtime.content?.rememberArgs(plain.id, args);
  const call = task && callKey(target.name, args);
  if (task?.recentOutput !== undefined) recordCall(task, plain.id, target.name, args);
  const chances = task && site.breaker?.settings.failureThreshold;
  const isPatient = chances !== undefined && chances > runtime.settings.loop.repeats;
  const features = site.features.length > 0 ? readFeatures(site, args) : undefined;
  const does = task && target.kind === 'tool' ? (target.effect ?? markEffect(target.name, args[0])) : undefined;
  if (does !== undefined) Object.assign(plain, does);
  if (features === undefined && runtime.rules === undefined && turnId === undefined && call === undefined && !isPatient)
    return plain;
  const hits = target.match?.(args) ?? runtime.rules?.matchCall(target.name, site.agent, args);
  if (hits !== undefined && hits.length > 0) plain.hits = hits;
  if (turnId !== undefined) plain.turnId = turnId;
  if (call !== undefined) plain.call = call;
  if (isPatient) plain.chances = chances;
  if (features !== undefined) plain.features = features;
  return plain;
}

/** Checks the bounds of one call: bounds that are no amounts would reserve nothing, so the call is refused. */
function checkMaxCost(maxCost: MaxCost): MaxCost {
  checkOptions('the result of maxCost', maxCost, maxCostChecks);
  return maxCost;
}

/** Reads the features of the arguments that controls need. */
function readFeatures({ features, target }: CallSite, args: readonly unknown[]): Action['features'] {
  const found: Record<string, number> = {};
  for (const { name, read } of features) {
    try {
      const value = read(target.name, args);
      if (value !== undefined) found[name] = fingerprint(name, value);
    } catch {
      found[name] = 1; // Unreadable arguments all have the same value.
    }
  }
  return found;
}

function boundedCost(value: number | undefined): number {
  return value !== undefined && value > 0 ? Math.min(value, 1e12) : 0;
}

/** Reports once that a call was made outside any task, where most limits do not apply. */
export function reportMissingTask(runtime: Runtime, name: string, atMs: number): void {
  if (runtime.reportedOnce.has('task-missing')) return;
  runtime.reportedOnce.add('task-missing');
  const { session, agent } = runtime;
  appendEntry(runtime, { type: 'task-missing', name }, { session, agent }, atMs);
}
