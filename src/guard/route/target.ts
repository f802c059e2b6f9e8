/** What the code around a tool says about it: checked, and written down for a replay. */

import { checkSettingOverrides } from '../../core/setting-overrides.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import type { GuardOptions } from '../api.ts';
import { appendEntry } from '../journal/journal.ts';
import {
  amount,
  type Checks,
  choices,
  fn,
  isA,
  name as isName,
  kind,
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
  // Upper bounds that nobody could reserve would leave the limit without them.
  maxCost: (what, value) => typeof value === 'function' || options(what, value, { cents: amount, tokens: amount }),
  usage: fn,
  async: choices(true, false),
};

export function makeTarget(runtime: Runtime, name: string, guardOptions: GuardOptions): Target {
  options('guard options', guardOptions, checks);
  const { kind = 'tool', breaker, timeoutSecs } = guardOptions;
  const overrides: Partial<BreakerSettings> = {
    ...(breaker !== undefined && checkSettingOverrides(runtime.settings.circuitBreaker, breaker, 'breaker')),
    ...(timeoutSecs !== undefined && { timeoutSecs: timeoutOf('guard options', timeoutSecs) as number }),
  };
  isName('the name of a tool', name);
  if (Object.keys(overrides).length > 0) recordTuning(runtime, name, overrides);
  return { name, kind, overrides };
}

export function recordTuning(runtime: Runtime, name: string, overrides: Partial<BreakerSettings>): void {
  appendEntry(runtime, { type: 'breaker-tuned', name, overrides: { ...overrides } });
}
