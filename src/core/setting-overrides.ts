/** Checks single settings from code by name and kind, so that a typo never switches a limit off. */

import { SwitchgearError } from './error.ts';
import { halfOpenPermitsMax, secsMax, windowCallsMax } from './limits.ts';
import { quoteValue } from './quote.ts';
import type { BreakerSettings } from './settings.ts';

/** Settings that may be undefined or "none". */
const optionals = /^(failureRateThreshold|slowCallSecs|maxConcurrent|timeoutSecs|maxTokens)$/;

/** The choices of settings with fixed words. */
const choices: Readonly<Record<string, string>> = {
  mode: 'enforce observe off',
  trip: 'consecutive cumulative count_window time_window',
  rateWindow: 'calls time',
  recovery: 'timed manual',
  leaseExpiry: 'failure neutral',
  scope: 'task session agent project shared',
};

/** The highest counts; unlisted settings accept any number. */
const maxima: Readonly<Record<string, number>> = {
  halfOpenPermits: halfOpenPermitsMax,
  windowCalls: windowCallsMax,
  minimumCalls: windowCallsMax,
};

/** Whether a setting may be absent, which switches it off. */
export function isOptionalSetting(name: string): boolean {
  return optionals.test(name);
}

/** Checks settings and returns them under their TypeScript names; `defaults` defines the names and kinds. */
export function checkSettingOverrides<T extends object>(defaults: T, input: unknown, where: string): Partial<T> {
  const overrides: Record<string, unknown> = {};
  const refuse = (text: string): never => {
    throw new SwitchgearError('invalid_policy', where + text);
  };
  let entries: [string, unknown][] | undefined;
  try {
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) entries = Object.entries(input);
  } catch {
    refuse(' cannot be read');
  }
  for (const [key, value] of entries ?? refuse(` must be an object, got ${quoteValue(input)}`)) {
    const name = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    // `maxTokens` belongs to a task; every other optional setting belongs to a breaker.
    const isOptionalHere =
      isOptionalSetting(name) && (name === 'maxTokens') === Object.hasOwn(defaults, 'maxToolCalls');
    const sample = isOptionalHere
      ? 1
      : Object.hasOwn(defaults, name)
        ? (defaults as Record<string, unknown>)[name]
        : undefined;
    if (sample === undefined) refuse(`.${key.slice(0, 80)} is not a setting`);
    const isNone = isOptionalHere && (value === undefined || value === 'none');
    const [kind, fits] = describeKind(name, sample, value);
    if (!isNone && !fits) refuse(`.${name} must be ${kind}, got ${quoteValue(value)}`);
    overrides[name] = isNone ? undefined : value;
  }
  checkReachable({ ...defaults, ...overrides } as Partial<BreakerSettings>, refuse);
  return overrides as Partial<T>;
}

/** Checks that settings which are valid alone leave a reachable limit together. */
function checkReachable(settings: Partial<BreakerSettings>, refuse: (text: string) => never): void {
  const { trip, windowCalls = 0, rateWindow } = settings;
  const isRated = rateWindow === 'calls' && (settings.failureRateThreshold ?? settings.slowCallSecs) !== undefined;
  const mustFit = (name: 'failureThreshold' | 'minimumCalls') => {
    const { [name]: count = 0 } = settings;
    if (count > windowCalls)
      refuse(`.${name} is ${count}, but the window holds ${windowCalls} calls: it could never trip`);
  };
  if (trip === 'count_window') mustFit('failureThreshold');
  if (isRated) mustFit('minimumCalls');
}

/** The required kind of a setting in words, and whether a value has it. */
function describeKind(name: string, sample: unknown, value: unknown): readonly [kind: string, fits: boolean] {
  if (Array.isArray(sample))
    return ['a list of texts', Array.isArray(value) && value.every((item) => typeof item === 'string')];
  const allowed = choices[name]?.split(' ');
  if (allowed !== undefined) return [`one of ${allowed.join(', ')}`, allowed.includes(value as string)];
  if (typeof sample !== 'number') return [`a ${typeof sample}`, typeof value === typeof sample];
  const isSecs = name.endsWith('Secs');
  const isShare = /(RateThreshold|Share|Jitter)$/.test(name);
  const isFactor = name.endsWith('Factor');
  const low = /itter/.test(name) ? 0 : isSecs || isShare ? Number.MIN_VALUE : 1;
  const high = isShare ? 1 : isSecs ? secsMax : (maxima[name] ?? 1e12);
  const isWhole = !(isSecs || isShare || isFactor);
  const from = low > 0 && low < 1 ? 'above 0' : `from ${low}`;
  const fits = typeof value === 'number' && value >= low && value <= high && (!isWhole || Number.isInteger(value));
  return [`a ${isWhole ? 'whole ' : ''}number ${from} to ${high}`, fits];
}
