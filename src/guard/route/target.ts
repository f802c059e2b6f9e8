/** Checks the options of a guarded function and makes the target of its calls. */

import { getOrCreate } from '../../core/bounded.ts';
import { breakerFields } from '../../core/controls/breaker/fields.ts';
import { checkSettingOverrides } from '../../core/declare/setting-overrides.ts';
import { callSitesMax, retryAttemptsMax } from '../../core/limits.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import type { GuardOptions, GuardRetryOptions } from '../call-options.ts';
import { appendEntry } from '../journal/journal.ts';
import {
  amount,
  type Checks,
  choices,
  fn,
  isA,
  name as isName,
  kind,
  maxCostChecks,
  options,
  signal,
  timeoutOf,
  whole,
} from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Target } from './call-site.ts';

/** The options of a retry. */
export const retryChecks: Checks = {
  retries: (what, value) => whole(what, value, 0),
  baseSecs: amount,
  maxWaitSecs: amount,
  jitter: choices('full', 'equal', 'none'),
  when: fn,
};

const checks: Checks = {
  kind,
  breaker: isA,
  timeoutSecs: isA,
  maxConcurrent: isA,
  maxQueue: isA,
  queueTimeoutSecs: isA,
  retry: (what, value) => typeof value === 'number' || options(what, value, retryChecks),
  fallback: fn,
  signal,
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
  const check = (settings: object, where: string) =>
    checkSettingOverrides(breakerFields, runtime.settings.circuitBreaker, settings, where);
  const own = readOwnSettings(guardOptions);
  const overrides: Partial<BreakerSettings> = {
    ...(breaker !== undefined && check(breaker, 'breaker')),
    ...(own !== undefined && check(own, 'guard options')),
    ...(timeoutSecs !== undefined && { timeoutSecs: timeoutOf('guard options', timeoutSecs) as number }),
  };
  isName('the name of a tool', name);
  return { name, kind, overrides };
}

/** The settings of the queue and of retries that the options of a guarded function set. */
function readOwnSettings({ maxConcurrent, maxQueue, queueTimeoutSecs, retry }: GuardOptions): object | undefined {
  const retrying: GuardRetryOptions = typeof retry === 'number' ? { retries: retry } : (retry ?? {});
  const { retries = retry === undefined ? undefined : 3, baseSecs, maxWaitSecs, jitter } = retrying;
  const settings = {
    maxConcurrent,
    maxQueue,
    queueTimeoutSecs,
    retries: retries === undefined ? undefined : Math.min(retries, retryAttemptsMax),
    retryBaseSecs: baseSecs,
    retryMaxWaitSecs: maxWaitSecs,
    retryJitter: jitter,
  };
  const set = Object.entries(settings).filter(([, value]) => value !== undefined);
  return set.length === 0 ? undefined : Object.fromEntries(set);
}

/** Records changed breaker settings of a name. */
export function recordTuning(runtime: Runtime, name: string, overrides: Partial<BreakerSettings>): void {
  appendEntry(runtime, { type: 'breaker-tuned', name, overrides: { ...overrides } });
}
