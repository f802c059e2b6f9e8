/** The entry point `switchgear/breaker`: the standalone breaker, for one service, without tasks, policy or store. */

import { exportBreaker, importBreaker, type SavedBreaker } from './core/controls/breaker/saved.ts';
import { initialBreaker } from './core/controls/breaker/state.ts';
import type { Breaker, BreakerOptions } from './standalone/api.ts';
import { StandaloneBreaker } from './standalone/breaker.ts';
import { resolveOptions } from './standalone/options.ts';

export type { Outcome } from './core/action.ts';
export type { SavedBreaker } from './core/controls/breaker/saved.ts';
export {
  type Breaker,
  type BreakerChange,
  type BreakerOptions,
  type BreakerPermit,
  type BreakerRefusal,
  CircuitOpenError,
} from './standalone/api.ts';

/** A breaker of its own. */
export function createBreaker(options: BreakerOptions = {}): Breaker {
  const config = resolveOptions(options);
  return new StandaloneBreaker(config, initialBreaker(config.settings));
}

/** The state in remaining durations, so that it can be taken up anywhere. */
export function saveBreaker(breaker: Breaker): SavedBreaker {
  const { config, memory } = breaker as StandaloneBreaker;
  return exportBreaker(memory, config.settings, config.clock.nowMs());
}

/** The breaker that was saved, on this machine or another, now or long ago. */
export function restoreBreaker(saved: SavedBreaker, options: BreakerOptions = {}): Breaker {
  const config = resolveOptions(options);
  return new StandaloneBreaker(config, importBreaker(saved, config.settings, config.clock.nowMs()));
}
