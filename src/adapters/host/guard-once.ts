/** What a gear guards already: protected again it stays as it is, and nothing is counted twice. */

import type { Switchgear } from '../../guard/api.ts';
import { printDebug, runtimeOf } from '../../guard/internal.ts';

const guardingGears = new WeakMap<object, ReadonlySet<Switchgear>>();

export function isGuardedBy(thing: unknown, gear: Switchgear): boolean {
  return guardingGears.get(thing as object)?.has(gear) === true;
}

/** Makes the guarded thing, unless it is one. */
export function guardOnce<T>(thing: T, gear: Switchgear, make: () => T & object): T {
  if (isGuardedBy(thing, gear)) return thing;
  const guarded = make();
  guardingGears.set(guarded, new Set([...(guardingGears.get(thing as object) ?? []), gear]));
  return guarded;
}

/** Prints what an adapter guards, at the log level `debug`. */
export function reportGuarded(
  gear: Switchgear,
  adapter: string,
  names: readonly string[],
  unguarded: readonly string[] = [],
): void {
  const rest = unguarded.length === 0 ? '' : `; not guarded, because others run them: ${unguarded.join(', ')}`;
  printDebug(runtimeOf(gear), `${adapter}: ${names.length} guarded: ${names.join(', ') || 'nothing'}${rest}`);
}
