/** Checks options when they are passed, so that no error is thrown later during a call. */

import { defaultBreaker } from '../../core/controls/breaker/defaults.ts';
import { breakerFields } from '../../core/controls/breaker/fields.ts';
import { checkSettingOverrides } from '../../core/declare/setting-overrides.ts';
import { SwitchgearError } from '../../core/error.ts';
import { nameLengthMax } from '../../core/limits.ts';
import { quoteValue } from '../../core/quote.ts';

/** Throws if the value is not valid for the option `what`. */
export type Check = (what: string, value: unknown) => unknown;
/** The known options with their checks. */
export type Checks = Readonly<Record<string, Check>>;

export function invalid(message: string): SwitchgearError {
  return new SwitchgearError('invalid_argument', message);
}

function must<T>(what: string, value: unknown, kind: string, fits: boolean): T {
  if (!fits) throw invalid(`${what} must be ${kind}, got ${quoteValue(value)}`);
  return value as T;
}

/** Accepts any value, which is checked elsewhere. */
export const isA: Check = (_, value) => value;

export function name(what: string, value: unknown): string {
  const fits = typeof value === 'string' && value !== '' && value.length <= nameLengthMax;
  return must(what, value, `a text of 1 to ${nameLengthMax} characters`, fits);
}

/** A text of any length, also an empty one. */
export const text: Check = (what, value) => must(what, value, 'a text', typeof value === 'string');

export function whole(what: string, value: unknown, from: number): number {
  return must(what, value, `a whole number from ${from}`, Number.isSafeInteger(value) && (value as number) >= from);
}

/** A number from 0, also one with a fraction. */
export function amount(what: string, value: unknown): number {
  return must(what, value, 'a number from 0', Number.isFinite(value) && (value as number) >= 0);
}

export const fn: Check = (what, value) => must(what, value, 'a function', typeof value === 'function');

export function choices(...words: readonly (string | boolean)[]): Check {
  const list = words.map((word) => JSON.stringify(word)).join(', ');
  return (what, value) => must(what, value, `one of ${list}`, words.includes(value as string));
}

/** The upper bounds of the cost of one call. */
export const maxCostChecks: Checks = { usd: amount, tokens: amount };

export const kind = choices('tool', 'model', 'delegation', 'step');

/** Checks an options object without unknown keys: a typo must not switch a limit off. */
export function options(what: string, value: unknown, checks: Checks): void {
  readable(what, () => {
    const given = object(what, value);
    for (const key in given) {
      if (!Object.hasOwn(checks, key)) {
        throw invalid(`${what} has no ${quoteValue(key)}; it has ${Object.keys(checks).join(', ')}`);
      }
      if (given[key] !== undefined) checks[key]!(key, given[key]);
    }
  });
}

/** An object with these methods, such as a clock or a store. */
export function methods(...names: readonly string[]): Check {
  return (what, value) => {
    const lacking = readable(what, () =>
      names.find((name) => typeof (value as Record<string, unknown> | null | undefined)?.[name] !== 'function'),
    );
    if (lacking !== undefined) throw invalid(`${what} must have a method "${lacking}", got ${quoteValue(value)}`);
  };
}

export const signal = methods('addEventListener', 'removeEventListener');

/** The entries of a plain object. */
export function entries(what: string, value: unknown): readonly (readonly [string, unknown])[] {
  return readable(what, () => Object.entries(object(what, value)));
}

function object(what: string, value: unknown): Readonly<Record<string, unknown>> {
  return must(what, value, 'an object', typeof value === 'object' && value !== null && !Array.isArray(value));
}

export function list(what: string, value: unknown): readonly unknown[] {
  return readable(what, () => [...must<unknown[]>(what, value, 'a list', Array.isArray(value))]);
}

/** The timeout in milliseconds from seconds; 0 = none. */
export function timeoutOf(where: string, timeoutSecs: number | undefined): number | undefined {
  const said = timeoutSecs === undefined || timeoutSecs === 0 ? {} : { timeoutSecs };
  return checkSettingOverrides(breakerFields, defaultBreaker, said, where).timeoutSecs;
}

/** Reads a value from the host, which may throw: a getter, a revoked proxy. */
function readable<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof SwitchgearError ? error : invalid(`${what} cannot be read`);
  }
}
