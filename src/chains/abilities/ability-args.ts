/** Reading the arguments of a built-in ability: every one known, each of its kind. */

import { quoted } from '../../core/quote.ts';
import { AbilityError } from './ability-error.ts';

/** Says which argument is wrong; such a call counts against no breaker. */
export function wrongArgument(ability: string, what: string): AbilityError {
  return new AbilityError(`${ability}: ${what}`, { name: 'InvalidArguments' });
}

/** Refuses arguments that the ability does not know. */
export function onlyKnown(ability: string, args: object, known: readonly string[]): void {
  for (const name of Object.keys(args)) {
    if (!known.includes(name))
      throw wrongArgument(ability, `${quoted(name)} is not an argument; it takes ${known.join(', ')}`);
  }
}

/** A table of names and texts; numbers and booleans are written out. */
export function textsIn(ability: string, name: string, value: unknown): readonly (readonly [string, string])[] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrongArgument(ability, `${name} must be a table, got ${quoted(value)}`);
  return Object.entries(value).map(([key, one]) => [key, textIn(ability, `${name}.${key}`, one)]);
}

export function textIn(ability: string, name: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw wrongArgument(ability, `${name} must be a text, got ${quoted(value)}`);
}
