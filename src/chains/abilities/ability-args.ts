/** Reading the arguments of a built-in ability: every one known, each of its kind. */

import { quoteValue } from '../../core/quote.ts';
import { AbilityError } from './ability-error.ts';

/** Says which argument is wrong; such a call counts against no breaker. */
export function argumentError(ability: string, what: string): AbilityError {
  return new AbilityError(`${ability}: ${what}`, { name: 'InvalidArguments' });
}

/** Refuses arguments that the ability does not know. */
export function checkArgumentNames(ability: string, args: object, names: readonly string[]): void {
  for (const name of Object.keys(args)) {
    if (!names.includes(name))
      throw argumentError(ability, `${quoteValue(name)} is not an argument; it takes ${names.join(', ')}`);
  }
}

/** A table of names and texts; numbers and booleans are written out. */
export function requireTexts(ability: string, name: string, value: unknown): readonly (readonly [string, string])[] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw argumentError(ability, `${name} must be a table, got ${quoteValue(value)}`);
  return Object.entries(value).map(([key, item]) => [key, requireText(ability, `${name}.${key}`, item)]);
}

export function requireText(ability: string, name: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw argumentError(ability, `${name} must be a text, got ${quoteValue(value)}`);
}
