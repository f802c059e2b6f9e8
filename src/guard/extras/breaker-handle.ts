/** Shows all breakers of one name as one: the worst state, the sums of the counts, and manual operations. */

import { handTrip, openBreaker, resetBreaker } from '../../core/controls/breaker/phases.ts';
import type { BreakerState } from '../../core/controls/breaker/state.ts';
import { quoteValue } from '../../core/quote.ts';
import type { BreakerHandle } from '../api.ts';
import {
  type BreakerEntry,
  breakersOf,
  changeBreaker,
  holdBreaker,
  stateName,
  statsOf,
} from '../breakers/breaker-registry.ts';
import { callSiteFor } from '../route/call-site.ts';
import { makeTarget } from '../route/target.ts';
import { invalid } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { addHealthCheck } from './health-checks.ts';
import { readMetrics } from './metrics.ts';

/** The breakers of a name, present and future. */
export function breakerHandle(runtime: Runtime, name: string): BreakerHandle {
  const { clock, heldNames } = runtime;
  const all = () => breakersOf(runtime, name);
  const each = (act: (entry: BreakerEntry) => void) => {
    // Create a breaker if there is none yet, so that it can be held or tripped before the first call.
    if (all().length === 0) callSiteFor(runtime, makeTarget(runtime, name, {}), undefined);
    all().forEach(act);
  };
  return {
    name,
    get state() {
      const states = all().map((entry) => stateName(entry, clock.nowMs()));
      return (['OPEN', 'HALF_OPEN'] as const).find((state) => states.includes(state)) ?? 'CLOSED';
    },
    get stats() {
      return statsOf(all());
    },
    reset: () => each((entry) => resetBreakerEntry(runtime, entry)),
    trip(untilMs) {
      if (untilMs !== undefined && !Number.isFinite(untilMs))
        throw invalid(`untilMs must be a finite number, got ${quoteValue(untilMs)}`);
      each((entry) => {
        changeBreaker(runtime, entry, (state) => openBreaker(state, entry.settings, clock.nowMs(), handTrip, untilMs));
      });
    },
    hold() {
      heldNames.add(name);
      each((entry) => holdBreaker(runtime, entry));
    },
    release() {
      heldNames.delete(name);
      const release = (state: BreakerState) => {
        state.heldAtMs = -1;
      };
      each((entry) => changeBreaker(runtime, entry, release, 'released'));
    },
    metrics: () => readMetrics(runtime, name),
    checkHealth: (check) => addHealthCheck(runtime, name, check),
  };
}

/** Resets one breaker by hand. */
export function resetBreakerEntry(runtime: Runtime, entry: BreakerEntry): void {
  changeBreaker(runtime, entry, resetBreaker, 'reset');
}
