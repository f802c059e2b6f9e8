/** What a gear guards already: protected again it stays as it is, and nothing is counted twice. */

import type { Switchgear } from '../../guard/api.ts';

const guards = new WeakMap<object, ReadonlySet<Switchgear>>();

export function isGuarded(thing: unknown, gear: Switchgear): boolean {
  return guards.get(thing as object)?.has(gear) === true;
}

/** Makes the guarded thing, unless it is one. */
export function once<T>(thing: T, gear: Switchgear, make: () => T & object): T {
  if (isGuarded(thing, gear)) return thing;
  const made = make();
  guards.set(made, new Set([...(guards.get(thing as object) ?? []), gear]));
  return made;
}
