/** What breakers of equal options share: checked once, kept once. */

import { defaultBreaker } from '../core/controls/breaker/defaults.ts';
import { SwitchgearError } from '../core/error.ts';
import { sharedSettingsMax } from '../core/limits.ts';
import { quoteValue } from '../core/quote.ts';
import { checkSettingOverrides } from '../core/setting-overrides.ts';
import type { BreakerSettings } from '../core/settings.ts';
import { coarseClock, systemClock } from '../platform/system-clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { BreakerOptions } from './api.ts';
import { TimeLimit } from './time-limit.ts';

/** What breakers of equal options share. */
export interface ResolvedOptions {
  readonly name: string;
  readonly settings: BreakerSettings;
  /** A clock that was handed in is asked each time; the machine's own costs more than a call and is asked seldom. */
  readonly clock: Clock;
  readonly exactClock: Clock;
  readonly refusalStyle: 'reject' | 'throw' | 'return';
  readonly timeLimit: TimeLimit | undefined;
  readonly needsTime: boolean;
  /** Whether only a run of failures opens it: below the limit of the run no failure needs a date. */
  readonly tripsByRunOnly: boolean;
  /** Whether the length of calls matters. */
  readonly isTimed: boolean;
  /** Whether each call needs a permit of its own while closed. */
  readonly needsPermitPerCall: boolean;
}

/** Refuses what does not fit, with what came. */
export function checkArgument(fits: boolean, problem: string, value: unknown): void {
  if (!fits) throw new SwitchgearError('invalid_argument', `${problem}, got ${quoteValue(value)}`);
}

const configByKey = new Map<string, ResolvedOptions>();
const sharedCoarseClock = coarseClock(systemClock);

const { timeoutSecs, ...untimed } = defaultBreaker;
const defaults = { ...untimed, rateWindow: 'calls', name: 'breaker', clock: systemClock, onRefusal: 'reject' };

/** The model of these options, which are read once, here. */
export function resolveOptions(options: BreakerOptions): ResolvedOptions {
  const checked = checkSettingOverrides(defaults, options, 'breaker') as BreakerOptions;
  const { name = 'breaker', clock, onRefusal = 'reject', ...overrides } = checked;
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
