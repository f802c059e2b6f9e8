/** The entry point `switchgear/breaker`: the standalone breaker, for one service, without tasks, policy or store. */

import { exportBreaker, importBreaker, type SavedBreaker } from './core/controls/breaker/saved.ts';
import { initialBreaker } from './core/controls/breaker/state.ts';
import type { Breaker, BreakerOptions, BreakerRefusal } from './standalone/api.ts';
import { StandaloneBreaker } from './standalone/breaker.ts';
import { resolveOptions } from './standalone/options.ts';

export type { Outcome } from './core/action.ts';
export type { SavedBreaker } from './core/controls/breaker/saved.ts';
export type { BreakerStats } from './core/controls/breaker/stats.ts';
export {
  type Breaker,
  type BreakerChange,
  type BreakerOptions,
  type BreakerPermit,
  type BreakerRefusal,
  CircuitOpenError,
  type StandaloneBreakerStats,
} from './standalone/api.ts';

/**
 * Creates a standalone breaker. An open breaker rejects with a `CircuitOpenError`.
 * @example
 * import { createBreaker } from 'switchgear/breaker';
 *
 * const breaker = createBreaker({ name: 'weather', failureThreshold: 5, recoveryTimeoutSecs: 30 });
 * const response = await breaker.execute(fetch, 'https://example.com/weather');
 */
export function createBreaker(options: BreakerOptions & { readonly onRefusal: 'return' }): Breaker<BreakerRefusal>;
export function createBreaker(options?: BreakerOptions): Breaker;
export function createBreaker(options: BreakerOptions = {}): Breaker {
  const config = resolveOptions(options);
  return new StandaloneBreaker(config, initialBreaker(config.settings));
}

/** Returns the state of a breaker as plain JSON, for `restoreBreaker` in any process. */
export function saveBreaker(breaker: Breaker<unknown>): SavedBreaker {
  const { config, memory } = breaker as StandaloneBreaker;
  return exportBreaker(memory, config.settings, config.clock.nowMs());
}

/** Creates a breaker with a saved state; an open period continues with the time that was left. */
export function restoreBreaker(
  saved: SavedBreaker,
  options: BreakerOptions & { readonly onRefusal: 'return' },
): Breaker<BreakerRefusal>;
export function restoreBreaker(saved: SavedBreaker, options?: BreakerOptions): Breaker;
export function restoreBreaker(saved: SavedBreaker, options: BreakerOptions = {}): Breaker {
  const config = resolveOptions(options);
  return new StandaloneBreaker(config, importBreaker(saved, config.settings, config.clock.nowMs()));
}
