/** Checks the options of a guarded function and makes the target of its calls. */

import { getOrCreate } from '../../core/bounded.ts';
import { breakerFields } from '../../core/controls/breaker/fields.ts';
import { checkSettingOverrides } from '../../core/declare/setting-overrides.ts';
import { callSitesMax } from '../../core/limits.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import type { GuardOptions } from '../call-options.ts';
import { appendEntry } from '../journal/journal.ts';
import {
  type Checks,
  choices,
  fn,
  isA,
  name as isName,
  kind,
  maxCostChecks,
  options,
  timeoutOf,
} from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Target } from './call-site.ts';

const checks: Checks = {
  kind,
  breaker: isA,
  timeoutSecs: isA,
  fallback: fn,
  classify: fn,
  // An upper bound that is not a number could not be reserved.
  maxCost: (what, value) => typeof value === 'function' || options(what, value, maxCostChecks),
  usage: fn,
  async: choices(true, false),
};

/** Makes the target of a guarded function, and records its overrides for a replay. */
export function makeTarget(runtime: Runtime, name: string, guardOptions: GuardOptions): Target {
  const target = readTarget(runtime, name, guardOptions);
  recordOverrides(runtime, target);
  return target;
}

/** Finds the target of one-off calls with the same name and overrides, so that they share one call site. */
export function findOneOffTarget(
  runtime: Runtime,
  name: string,
  guardOptions: GuardOptions,
  isOpaque: boolean,
): Target {
  const target = { ...readTarget(runtime, name, guardOptions), isOpaque };
  const key = `one-off ${isOpaque} ${target.kind} ${name} ${JSON.stringify(target.overrides)}`;
  return getOrCreate(runtime.targets, key, callSitesMax, () => {
    recordOverrides(runtime, target);
    return target;
  });
}

function recordOverrides(runtime: Runtime, { name, overrides = {} }: Target): void {
  if (Object.keys(overrides).length > 0) recordTuning(runtime, name, overrides);
}

function readTarget(runtime: Runtime, name: string, guardOptions: GuardOptions): Target {
  options('guard options', guardOptions, checks);
  const { kind = 'tool', breaker, timeoutSecs } = guardOptions;
  const overrides: Partial<BreakerSettings> = {
    ...(breaker !== undefined &&
      checkSettingOverrides(breakerFields, runtime.settings.circuitBreaker, breaker, 'breaker')),
    ...(timeoutSecs !== undefined && { timeoutSecs: timeoutOf('guard options', timeoutSecs) as number }),
  };
  isName('the name of a tool', name);
  return { name, kind, overrides };
}

/** Records changed breaker settings of a name. */
export function recordTuning(runtime: Runtime, name: string, overrides: Partial<BreakerSettings>): void {
  appendEntry(runtime, { type: 'breaker-tuned', name, overrides: { ...overrides } });
}
