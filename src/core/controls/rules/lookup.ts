/** Reading values of unknown make: own properties only, and a value that cannot be read is seen as such. */

import { fingerprintEntriesMax } from '../../limits.ts';

/** What a look at a key found. */
export type Seen =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable' };

const missing: Seen = Object.freeze({ kind: 'missing' });
const unreadable: Seen = Object.freeze({ kind: 'unreadable' });

/** Looks up a key, as it is or as a dotted path. */
export function look(source: unknown, key: string): Seen {
  try {
    const whole = own(source, key);
    if (whole.kind === 'value' || !key.includes('.')) return whole;
    let at: Seen = { kind: 'value', value: source };
    for (const part of key.split('.')) {
      at = own(at.value, part);
      if (at.kind !== 'value') return at;
    }
    return at;
  } catch {
    return unreadable; // A getter or proxy that throws.
  }
}

/** Looks up a key in every argument of a call that is an object. */
export function lookInArgs(args: unknown, key: string): readonly Seen[] {
  const found: Seen[] = [];
  try {
    const list: readonly unknown[] = Array.isArray(args) ? args : [args];
    for (let i = 0; i < list.length && i < fingerprintEntriesMax; i++) {
      if (!Array.isArray(list[i])) found.push(look(list[i], key));
    }
  } catch {
    found.push(unreadable);
  }
  return found.length > 0 ? found : [missing];
}

/** A finite number, or undefined. Text must be a plain decimal: no hex, no words, no trailing unit, never empty. */
export function numberOf(value: unknown): number | undefined {
  const text = typeof value === 'string' ? value.trim() : undefined;
  if (text !== undefined && !/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  if (text === undefined && typeof value !== 'number' && typeof value !== 'bigint') return undefined;
  const number = Number(text ?? value) + 0; // Minus zero is zero.
  return Number.isFinite(number) ? number : undefined;
}

/** The text of a value, or undefined where it cannot be had. */
export function textOf(value: unknown): string | undefined {
  try {
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  } catch {
    return undefined;
  }
}

function own(source: unknown, key: string): Seen {
  if (typeof source !== 'object' || source === null || !Object.hasOwn(source, key)) return missing;
  const value = (source as Readonly<Record<string, unknown>>)[key];
  return value === undefined ? missing : { kind: 'value', value };
}
