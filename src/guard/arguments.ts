/** Checks of what the host hands in at set-up: a clear error then, so that nothing throws while guarding. */

import { SwitchgearError } from '../core/error.ts';
import { nameLengthMax } from '../core/limits.ts';

/** What came, short enough to be quoted. */
export function quoted(value: unknown): string {
  try {
    const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value);
    return text.slice(0, 80);
  } catch {
    return 'something that cannot be read';
  }
}

export function name(what: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || value.length > nameLengthMax) {
    throw invalid(`${what} must be a text of 1 to ${nameLengthMax} characters, got ${quoted(value)}`);
  }
  return value;
}

export function whole(what: string, value: unknown, from: number): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < from) {
    throw invalid(`${what} must be a whole number from ${from}, got ${quoted(value)}`);
  }
  return value;
}

export function fn(what: string, value: unknown): void {
  if (typeof value !== 'function') throw invalid(`${what} must be a function, got ${quoted(value)}`);
}

export function oneOf(what: string, value: unknown, choices: readonly string[]): void {
  if (!choices.includes(value as string)) {
    throw invalid(`${what} must be one of ${choices.map((choice) => `"${choice}"`).join(', ')}, got ${quoted(value)}`);
  }
}

const knownNames = new WeakMap<readonly string[], ReadonlySet<string>>();

/** An options object with nothing in it that nobody reads: a typo must not switch anything off. */
export function options(what: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`${what} must be an object, got ${quoted(value)}`);
  }
  let names = knownNames.get(known);
  if (names === undefined) {
    names = new Set(known);
    knownNames.set(known, names);
  }
  for (const key in value) {
    if (!names.has(key)) throw invalid(`${what} has no ${quoted(key)}; it has ${known.join(', ')}`);
  }
}

export function invalid(message: string): SwitchgearError {
  return new SwitchgearError('invalid_argument', message);
}
