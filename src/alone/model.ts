/** What breakers of equal options share: checked once, kept once. */

import { defaultBreaker } from '../core/breaker/defaults.ts';
import { SwitchgearError } from '../core/error.ts';
import { sharedSettingsMax } from '../core/limits.ts';
import { checkPart } from '../core/part.ts';
import { quoted } from '../core/quoted.ts';
import type { BreakerSettings } from '../core/settings.ts';
import { coarseClock, systemClock } from '../guard/clock.ts';
import { type Timeouts, timeouts } from '../guard/timeouts.ts';
import type { Clock } from '../ports/clock.ts';
import type { BreakerOptions } from './breaker-face.ts';

/** What breakers of equal options share. */
export interface Model {
  readonly name: string;
  readonly settings: BreakerSettings;
  /** A clock that was handed in is asked each time; the machine's own costs more than a call and is asked seldom. */
  readonly clock: Clock;
  readonly exact: Clock;
  readonly refuses: 'reject' | 'throw' | 'return';
  readonly timed: Timeouts | undefined;
  readonly needsTime: boolean;
  /** Whether the length of calls matters. */
  readonly isSlow: boolean;
  /** Whether each call needs a permit of its own while closed. */
  readonly perCall: boolean;
}

/** Refuses what does not fit, with what came. */
export function check(fits: boolean, what: string, value: unknown): void {
  if (!fits) throw new SwitchgearError('invalid_argument', `${what}, got ${quoted(value)}`);
}

function settingsOf(said: object): BreakerSettings {
  const { timeoutSecs, ...untimed } = defaultBreaker;
  const settings: BreakerSettings = { ...untimed, rateWindow: 'calls', ...checkPart(defaultBreaker, said, 'breaker') };
  // Together they must leave a limit that can be reached.
  const { trip, failureThreshold, minimumCalls, windowCalls } = settings;
  const holds = `the window holds ${windowCalls} calls`;
  check(trip !== 'count_window' || failureThreshold <= windowCalls, `failureThreshold: ${holds}`, failureThreshold);
  const rated = settings.rateWindow === 'calls' && (settings.failureRateThreshold ?? settings.slowCallSecs);
  check(!rated || minimumCalls <= windowCalls, `minimumCalls: ${holds}`, minimumCalls);
  return settings;
}

const models = new Map<string, Model>();
const seldom = coarseClock(systemClock);

/** Options are read once, here: what refuses to be read is refused. */
function readable<T extends object>(given: T): T {
  check(typeof given === 'object' && given !== null && !Array.isArray(given), 'options must be an object', given);
  try {
    return { ...given };
  } catch {
    throw new SwitchgearError('invalid_argument', 'options cannot be read');
  }
}

/** The model of these options. */
export function modelOf(given: BreakerOptions): Model {
  const options = readable(given);
  const { name = 'breaker', clock, onRefusal = 'reject', ...said } = options;
  check(typeof name === 'string', 'name must be a text', name);
  check(['reject', 'throw', 'return'].includes(onRefusal), 'onRefusal must be reject, throw or return', onRefusal);
  const tells = typeof clock?.nowMs === 'function' && typeof clock.after === 'function';
  check(clock === undefined || tells, 'clock must have nowMs and after', clock);
  const settings = settingsOf(said);
  const key = JSON.stringify([name, onRefusal, settings]);
  const known = clock === undefined ? models.get(key) : undefined;
  if (known !== undefined) return known;
  const exact = clock ?? systemClock;
  const isSlow = settings.slowCallSecs !== undefined;
  const model: Model = {
    name,
    settings,
    clock: clock ?? seldom,
    exact,
    refuses: onRefusal,
    timed: settings.timeoutSecs === undefined ? undefined : timeouts(exact),
    needsTime: isSlow || settings.trip === 'time_window' || settings.rateWindow === 'time',
    isSlow,
    perCall: settings.maxConcurrent !== undefined || settings.mode !== 'enforce',
  };
  if (clock === undefined) {
    if (models.size >= sharedSettingsMax) models.clear();
    models.set(key, model);
  }
  return model;
}
