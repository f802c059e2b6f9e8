/** Checks single settings from code by their fields, so that a typo never switches a limit off. */

import { SwitchgearError } from '../error.ts';
import { toSnakeCase } from '../names.ts';
import { quoteValue } from '../quote.ts';
import type { BreakerSettings } from '../settings.ts';
import { valueProblem } from './check-value.ts';
import type { SectionFields, Setting } from './setting.ts';

/** Whether a setting may be absent, which switches it off. */
export function isOptional(setting: Setting | undefined): boolean {
  return setting !== undefined && 'optional' in setting && setting.optional === true && setting.none === undefined;
}

/**
 * Checks settings and returns them under their TypeScript names. `current` are the settings that they override; a name
 * that is only in `current` is an option of the caller, which keeps its type.
 */
export function checkSettingOverrides<T extends object>(
  fields: SectionFields,
  current: T,
  input: unknown,
  where: string,
): Partial<T> {
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
    const field = toSnakeCase(name);
    const setting = Object.hasOwn(fields, field) ? fields[field] : undefined;
    const isNone = isOptional(setting) && (value === undefined || value === 'none');
    const problem = setting === undefined ? optionProblem(current, name, value) : valueProblem(setting, value);
    if (problem === 'unknown') refuse(`.${key.slice(0, 80)} is not a setting`);
    if (!isNone && problem !== undefined) refuse(`.${name} ${problem}`);
    overrides[name] = isNone ? undefined : readNone(setting, value);
  }
  checkReachable({ ...current, ...overrides } as Partial<BreakerSettings>, refuse);
  return overrides as Partial<T>;
}

/** The value that `none` stands for, where the setting has one. */
export function readNone(setting: Setting | undefined, value: unknown): unknown {
  if (value !== 'none' || setting === undefined || setting.kind === 'choice') return value;
  return 'none' in setting ? setting.none : undefined;
}

/** Returns why a value is wrong for an option that is no setting; `unknown` if there is no such option. */
function optionProblem(current: object, name: string, value: unknown): string | undefined {
  const sample = Object.hasOwn(current, name) ? (current as Record<string, unknown>)[name] : undefined;
  if (sample === undefined) return 'unknown';
  return typeof value === typeof sample ? undefined : `must be a ${typeof sample}, got ${quoteValue(value)}`;
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
