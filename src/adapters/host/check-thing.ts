/** Refuses what an adapter does not know: a thing that passed through `protect` unguarded would only look guarded. */

import type { SwitchgearError } from '../../core/error.ts';
import { isPlainObject, isTable } from '../../core/plain-copy.ts';
import { quoteValue } from '../../core/quote.ts';
import { invalid } from '../../guard/internal.ts';

/**
 * The error of `protect` for a thing of another kind.
 * @param kinds what `protect` of this adapter takes
 * @param advice what to write instead
 */
export function unknownThing(kinds: string, thing: unknown, advice = ''): SwitchgearError {
  return invalid(`protect takes ${kinds}, got ${describe(thing)}${advice && `: ${advice}`}`);
}

/** Whether a thing is an object with this method, own or inherited. */
export function hasMethod<K extends string>(thing: unknown, method: K): thing is object & Record<K, unknown> {
  if ((typeof thing !== 'object' && typeof thing !== 'function') || thing === null) return false;
  return typeof Reflect.get(thing, method) === 'function';
}

/** Whether a thing is an object written as a literal, and not an instance of a class. */
export function isLiteral(thing: unknown): thing is Readonly<Record<string, unknown>> {
  return isTable(thing) && isPlainObject(thing);
}

/** Whether a function is a class, which is called with `new` only. */
export function isClass(thing: unknown): boolean {
  return typeof thing === 'function' && /^class\b/.test(Function.prototype.toString.call(thing));
}

function describe(thing: unknown): string {
  try {
    if (isClass(thing)) return `the class ${(thing as { readonly name: string }).name}`;
    if (typeof thing === 'function') return `the function ${quoteValue(thing.name)}`;
    if (Array.isArray(thing)) return 'a list';
    if (typeof thing !== 'object' || thing === null) return quoteValue(thing);
    if (!isLiteral(thing)) return `an instance of ${quoteName(thing)}`;
    const keys = Object.keys(thing).slice(0, 5);
    return keys.length === 0 ? 'an empty object' : `an object with ${keys.join(', ')}`;
  } catch {
    return 'something that cannot be read';
  }
}

function quoteName(thing: object): string {
  const { name } = thing.constructor as { readonly name?: unknown };
  return typeof name === 'string' && name !== '' ? name : 'a class';
}
