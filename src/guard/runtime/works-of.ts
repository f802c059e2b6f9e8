/** The one door to the inside of a gear, for functions that take a gear. */

import { quoted } from '../../core/quote.ts';
import type { Switchgear } from '../api.ts';
import { invalid } from './option-checks.ts';
import type { Works } from './runtime.ts';

const insides = new WeakMap<object, Works>();

export function worksOf(gear: Switchgear): Works {
  const works = insides.get(gear);
  if (works === undefined) throw invalid(`the gear must be one that createSwitchgear made, got ${quoted(gear)}`);
  return works;
}

export function keepWorks(gear: Switchgear, works: Works): void {
  insides.set(gear, works);
}
