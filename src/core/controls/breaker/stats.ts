/** The counts of a breaker, as users read them. */

import type { BreakerState } from './state.ts';

/** Counts of one breaker, or of all breakers of a name. */
export interface BreakerStats {
  /** Failures since the last success. */
  readonly consecutiveFailures: number;
  /** Successful probes of the current half-open phase. */
  readonly halfOpenSuccesses: number;
  readonly totalFailures: number;
  readonly totalSuccesses: number;
  /** Calls that ended as neither success nor failure: cancelled, ignored, denied elsewhere, given back. */
  readonly totalNeutrals: number;
  /** Calls that the breaker let through or rejected. */
  readonly totalRequests: number;
  readonly rejectedRequests: number;
  /** Results that came after the breaker had changed its phase; they do not count towards a trip. */
  readonly lateResults: number;
  /** Calls that run now. */
  readonly inFlight: number;
}

/** Returns the counts of a breaker. */
export function breakerStats(state: BreakerState): BreakerStats {
  return {
    consecutiveFailures: state.streak,
    halfOpenSuccesses: state.probeSuccesses,
    totalFailures: state.failures,
    totalSuccesses: state.successes,
    totalNeutrals: state.neutrals,
    totalRequests: state.requests,
    rejectedRequests: state.refused,
    lateResults: state.late,
    inFlight: state.inFlight,
  };
}
