/** Checks of what the host hands in at set-up: a clear error then, so that nothing throws while guarding. */

import { SwitchgearError } from '../core/error.ts';
import { nameLengthMax } from '../core/limits.ts';
import { quoted } from '../core/quoted.ts';

export function name(what: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || value.length > nameLengthMax) {
    throw invalid(`${what} must be a text of 1 to ${nameLengthMax} characters, got ${quoted(value)}`);
  }
  return value;
}

/** A text of any length, also an empty one. */
export function text(what: string, value: unknown): void {
  if (typeof value !== 'string') throw invalid(`${what} must be a text, got ${quoted(value)}`);
}

export function whole(what: string, value: unknown, from: number): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < from) {
    throw invalid(`${what} must be a whole number from ${from}, got ${quoted(value)}`);
  }
  return value;
}

/** A number from 0, also one with a fraction. */
export function amount(what: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY) return value;
  throw invalid(`${what} must be a number from 0, got ${quoted(value)}`);
}

export function fn(what: string, value: unknown): void {
  if (typeof value !== 'function') throw invalid(`${what} must be a function, got ${quoted(value)}`);
}

export function oneOf(what: string, value: unknown, choices: readonly (string | boolean)[]): void {
  if (!choices.includes(value as string)) {
    throw invalid(
      `${what} must be one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}, got ${quoted(value)}`,
    );
  }
}

const knownNames = new WeakMap<readonly string[], ReadonlySet<string>>();

/** An options object with nothing in it that nobody reads: a typo must not switch anything off. */
export function options(what: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== 'object' || value === null || readable(what, () => Array.isArray(value))) {
    throw invalid(`${what} must be an object, got ${quoted(value)}`);
  }
  let names = knownNames.get(known);
  if (names === undefined) {
    names = new Set(known);
    knownNames.set(known, names);
  }
  readable(what, () => {
    for (const key in value) {
      if (!names.has(key)) throw invalid(`${what} has no ${quoted(key)}; it has ${known.join(', ')}`);
      void (value as Record<string, unknown>)[key]; // A getter that throws does so now.
    }
  });
}

/** An object with these methods, such as a clock or a store. */
export function methods(what: string, value: unknown, names: readonly string[]): void {
  const lacking = readable(what, () =>
    names.find((name) => typeof (value as Record<string, unknown> | null | undefined)?.[name] !== 'function'),
  );
  if (lacking !== undefined) throw invalid(`${what} must have a method "${lacking}", got ${quoted(value)}`);
}

/** The entries of a plain object. */
export function entries(what: string, value: unknown): readonly (readonly [string, unknown])[] {
  return readable(what, () => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value);
    throw invalid(`${what} must be an object, got ${quoted(value)}`);
  });
}

export function list(what: string, value: unknown): readonly unknown[] {
  return readable(what, () => {
    if (Array.isArray(value)) return [...value];
    throw invalid(`${what} must be a list, got ${quoted(value)}`);
  });
}

/** What is read from outside may refuse to be: a hostile getter, a revoked proxy. */
function readable<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof SwitchgearError ? error : invalid(`${what} cannot be read`);
  }
}

export function invalid(message: string): SwitchgearError {
  return new SwitchgearError('invalid_argument', message);
}
