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
import { type TimeLimit, timeLimit } from './time-limit.ts';

/** What breakers of equal options share. */
export interface Model {
  readonly name: string;
  readonly settings: BreakerSettings;
  /** A clock that was handed in is asked each time; the machine's own costs more than a call and is asked seldom. */
  readonly clock: Clock;
  readonly exact: Clock;
  readonly refuses: 'reject' | 'throw' | 'return';
  readonly limit: TimeLimit | undefined;
  readonly needsTime: boolean;
  /** Whether only a run of failures opens it: below the limit of the run no failure needs a date. */
  readonly byRun: boolean;
  /** Whether the length of calls matters. */
  readonly isSlow: boolean;
  /** Whether each call needs a permit of its own while closed. */
  readonly perCall: boolean;
}

/** Refuses what does not fit, with what came. */
export function check(fits: boolean, what: string, value: unknown): void {
  if (!fits) throw new SwitchgearError('invalid_argument', `${what}, got ${quoteValue(value)}`);
}

const models = new Map<string, Model>();
const seldom = coarseClock(systemClock);

const { timeoutSecs, ...untimed } = defaultBreaker;
const known = { ...untimed, rateWindow: 'calls', name: 'breaker', clock: systemClock, onRefusal: 'reject' };

/** The model of these options, which are read once, here. */
export function modelOf(given: BreakerOptions): Model {
  const said = checkSettingOverrides(known, given, 'breaker') as BreakerOptions;
  const { name = 'breaker', clock, onRefusal = 'reject', ...own } = said;
  check(['reject', 'throw', 'return'].includes(onRefusal), 'onRefusal must be reject, throw or return', onRefusal);
  const tells = typeof clock?.nowMs === 'function' && typeof clock.after === 'function';
  check(clock === undefined || tells, 'clock must have nowMs and after', clock);
  const settings: BreakerSettings = { ...untimed, rateWindow: 'calls', ...own };
  const key = JSON.stringify([name, onRefusal, settings]);
  if (clock === undefined && models.has(key)) return models.get(key)!;
  const exact = clock ?? systemClock;
  const isSlow = settings.slowCallSecs !== undefined;
  const needsTime = isSlow || settings.trip === 'time_window' || settings.rateWindow === 'time';
  const model: Model = {
    name,
    settings,
    clock: clock ?? seldom,
    exact,
    refuses: onRefusal,
    limit:
      settings.timeoutSecs === undefined
        ? undefined
        : timeLimit(exact, clock !== undefined, name, settings.timeoutSecs),
    needsTime,
    byRun: !needsTime && settings.trip !== 'count_window' && settings.failureRateThreshold === undefined,
    isSlow,
    perCall: settings.maxConcurrent !== undefined || settings.mode !== 'enforce',
  };
  if (clock === undefined) {
    if (models.size >= sharedSettingsMax) models.clear();
    models.set(key, model);
  }
  return model;
}
