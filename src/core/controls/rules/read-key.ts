/** Reads keys of untrusted values: own properties only; an unreadable value is reported as such. */

import { fingerprintEntriesMax, stringifiedValuesMax } from '../../limits.ts';

/** The result of a lookup. */
export type LookupResult =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable' };

const missing: LookupResult = Object.freeze({ kind: 'missing' });
const unreadable: LookupResult = Object.freeze({ kind: 'unreadable' });

/** Looks up a key, literally or as a dotted path. */
export function readKey(source: unknown, key: string): LookupResult {
  try {
    const whole = readOwn(source, key);
    if (whole.kind === 'value' || !key.includes('.')) return whole;
    let current: LookupResult = { kind: 'value', value: source };
    for (const part of key.split('.')) {
      current = readOwn(current.value, part);
      if (current.kind !== 'value') return current;
    }
    return current;
  } catch {
    return unreadable; // A getter or proxy that throws.
  }
}

/** Looks up a key in every argument that is an object. */
export function readKeyInArgs(args: unknown, key: string): readonly LookupResult[] {
  const results: LookupResult[] = [];
  try {
    const list: readonly unknown[] = Array.isArray(args) ? args : [args];
    for (let i = 0; i < list.length && i < fingerprintEntriesMax; i++) {
      if (!Array.isArray(list[i])) results.push(readKey(list[i], key));
    }
  } catch {
    results.push(unreadable);
  }
  return results.length > 0 ? results : [missing];
}

/** Parses a finite number, or returns undefined. Text must be a plain decimal: no hex, words or unit, never empty. */
export function parseNumber(value: unknown): number | undefined {
  const text = typeof value === 'string' ? value.trim() : undefined;
  if (text !== undefined && !/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  if (text === undefined && typeof value !== 'number' && typeof value !== 'bigint') return undefined;
  const number = Number(text ?? value) + 0; // Minus zero becomes zero.
  return Number.isFinite(number) ? number : undefined;
}

/** The text of a value, or undefined if it is unreadable. */
export function stringifyValue(value: unknown): string | undefined {
  try {
    if (typeof value !== 'object') return String(value);
    let visits = 0;
    // Values that share their parts are written once per path: without a bound that could take hours.
    return JSON.stringify(value, (_, part: unknown) => {
      if (++visits > stringifiedValuesMax) throw new RangeError('too many values');
      return part;
    });
  } catch {
    return undefined;
  }
}

function readOwn(source: unknown, key: string): LookupResult {
  if (typeof source !== 'object' || source === null || !Object.hasOwn(source, key)) return missing;
  const value = (source as Readonly<Record<string, unknown>>)[key];
  return value === undefined ? missing : { kind: 'value', value };
}
