/** What an ability gives back: plain JSON of a bounded size. */

import { abilityOutputBytesMax } from '../../core/limits.ts';
import { AbilityError } from './ability-error.ts';

/** The value as plain JSON: nothing becomes null, and what cannot be kept is a failure. */
export function toPlainOutput(name: string, value: unknown): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(value ?? null);
  } catch (cause) {
    throw new AbilityError(`${name} gave back what is no JSON: ${(cause as Error).message}`, { cause });
  }
  if (text === undefined) throw new AbilityError(`${name} gave back a ${typeof value}, which is no JSON`);
  const bytes = Buffer.byteLength(text);
  if (bytes > abilityOutputBytesMax) throw outputTooLarge(name, bytes);
  return JSON.parse(text);
}

/** Says that an output is over the bound; for those who stop before they have all of it. */
export function outputTooLarge(name: string, bytes: number | undefined): AbilityError {
  const size = bytes === undefined ? 'more' : `${bytes} bytes`;
  return new AbilityError(`${name} gave back ${size}; an output may have ${abilityOutputBytesMax} bytes`);
}

/** Text as a value: what is JSON becomes what it says, unless a number would lose digits by it. */
export function parseTextValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'number' && String(value) !== text.trim() ? text : value;
  } catch {
    return text;
  }
}
