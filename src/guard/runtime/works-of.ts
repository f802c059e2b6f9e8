/** The one door to the inside of a gear, for functions that take a gear. */

import { quoted } from '../../core/quote.ts';
import type { Switchgear } from '../api.ts';
import { invalid } from './option-checks.ts';
import type { Runtime } from './runtime.ts';

const insides = new WeakMap<object, Runtime>();

export function runtimeOf(gear: Switchgear): Runtime {
  const runtime = insides.get(gear);
  if (runtime === undefined) throw invalid(`the gear must be one that createSwitchgear made, got ${quoted(gear)}`);
  return runtime;
}

export function registerRuntime(gear: Switchgear, runtime: Runtime): void {
  insides.set(gear, runtime);
}
