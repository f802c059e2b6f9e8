/** Checks and resolves the options of standalone breakers; breakers with equal options share the result. */

import { defaultBreaker } from '../core/controls/breaker/defaults.ts';
import { breakerFields } from '../core/controls/breaker/fields.ts';
import { checkSettingOverrides } from '../core/declare/setting-overrides.ts';
import { SwitchgearError } from '../core/error.ts';
import { sharedSettingsMax } from '../core/limits.ts';
import { quoteValue } from '../core/quote.ts';
import type { BreakerSettings } from '../core/settings.ts';
import { coarseClock, systemClock } from '../platform/system-clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { BreakerOptions, GearSetting } from './api.ts';
import { TimeLimit } from './time-limit.ts';

/** Resolved options, shared by breakers with equal options. */
export interface ResolvedOptions {
  readonly name: string;
  readonly settings: BreakerSettings;
  /** The clock of the options, read on every call; without one a coarse system clock, which is cheaper than a call. */
  readonly clock: Clock;
  readonly exactClock: Clock;
  readonly refusalStyle: 'reject' | 'throw' | 'return';
  readonly timeLimit: TimeLimit | undefined;
  readonly needsTime: boolean;
  /** Whether only a row of failures opens the breaker: then a failure below the threshold needs no time. */
  readonly tripsByRunOnly: boolean;
  /** Whether the breaker measures the duration of calls. */
  readonly isTimed: boolean;
  /** Whether each call needs a permit of its own while the breaker is closed. */
  readonly needsPermitPerCall: boolean;
}

/** Throws an `invalid_argument` error that quotes the value, unless `fits`. */
export function checkArgument(fits: boolean, problem: string, value: unknown): void {
  if (!fits) throw new SwitchgearError('invalid_argument', `${problem}, got ${quoteValue(value)}`);
}

const configByKey = new Map<string, ResolvedOptions>();
const sharedCoarseClock = coarseClock(systemClock);

const { timeoutSecs, ...untimed } = defaultBreaker;
const defaults = { ...untimed, rateWindow: 'calls', name: 'breaker', clock: systemClock, onRefusal: 'reject' };

/** Settings of what surrounds a call of a gear: its retries, its queue, its task. */
const gearSettings: readonly GearSetting[] = [
  'maxCalls',
  'maxCallsSession',
  'maxQueue',
  'queueTimeoutSecs',
  'retries',
  'retryBaseSecs',
  'retryMaxWaitSecs',
  'retryJitter',
];

/** Resolves options. They are read once, here. */
export function resolveOptions(options: BreakerOptions): ResolvedOptions {
  const checked = checkSettingOverrides(breakerFields, defaults, options, 'breaker') as BreakerOptions;
  const { name = 'breaker', clock, onRefusal = 'reject', ...overrides } = checked;
  const foreign = gearSettings.find((each) => overrides[each as never] !== undefined);
  if (foreign !== undefined)
    throw new SwitchgearError('invalid_policy', `breaker.${foreign} needs a gear: set it for a guarded tool`);
  checkArgument(
    ['reject', 'throw', 'return'].includes(onRefusal),
    'onRefusal must be reject, throw or return',
    onRefusal,
  );
  const isClock = typeof clock?.nowMs === 'function' && typeof clock.after === 'function';
  checkArgument(clock === undefined || isClock, 'clock must have nowMs and after', clock);
  const settings: BreakerSettings = { ...untimed, rateWindow: 'calls', ...overrides };
  const key = JSON.stringify([name, onRefusal, settings]);
  if (clock === undefined && configByKey.has(key)) return configByKey.get(key)!;
  const exactClock = clock ?? systemClock;
  const isTimed = settings.slowCallSecs !== undefined;
  const needsTime = isTimed || settings.trip === 'time_window' || settings.rateWindow === 'time';
  const config: ResolvedOptions = {
    name,
    settings,
    clock: clock ?? sharedCoarseClock,
    exactClock,
    refusalStyle: onRefusal,
    timeLimit:
      settings.timeoutSecs === undefined
        ? undefined
        : new TimeLimit(exactClock, clock !== undefined, name, settings.timeoutSecs),
    needsTime,
    tripsByRunOnly: !needsTime && settings.trip !== 'count_window' && settings.failureRateThreshold === undefined,
    isTimed,
    needsPermitPerCall: settings.maxConcurrent !== undefined || settings.mode !== 'enforce',
  };
  if (clock === undefined) {
    if (configByKey.size >= sharedSettingsMax) configByKey.clear();
    configByKey.set(key, config);
  }
  return config;
}
