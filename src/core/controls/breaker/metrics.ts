/** The three metrics of a breaker, and the alerts on them. */

import type { AlertSettings, BreakerSettings } from '../../settings.ts';
import { rateSums } from './breaker.ts';
import { openForMs } from './phases.ts';
import type { BreakerState } from './state.ts';

/**
 * The metrics of a breaker, and the names of those above their alert values. The names are those that CueDeck gives
 * to its metrics.
 */
export interface BreakerMetrics {
  /** Trips since the breaker was created or last reset. */
  readonly breaker_trip_count: number;
  /** Trips in the last hour. */
  readonly trips_per_hour: number;
  /** Share of failed calls in the window, from 0 to 1; undefined below the minimum of calls. */
  readonly failure_rate: number | undefined;
  /** Milliseconds in open since the breaker was last closed, the current period included. */
  readonly time_in_open_state: number;
  readonly alerts: readonly ('breaker_trip_count' | 'failure_rate' | 'time_in_open_state')[];
}

const hourMs = 3_600_000;

/** Computes the metrics of a breaker. */
export function breakerMetrics(
  state: BreakerState,
  settings: BreakerSettings,
  alert: Pick<AlertSettings, 'tripsPerHour' | 'failureRate' | 'timeInOpenSecs'>,
  atMs: number,
): BreakerMetrics {
  const { calls, failures } = rateSums(state, settings, atMs);
  const failureRate = calls >= settings.minimumCalls ? failures / calls : undefined;
  const tripsPerHour = state.tripTimesMs.filter((tripMs) => atMs - tripMs < hourMs).length;
  const heldMs = state.heldAtMs < 0 ? 0 : atMs - Math.max(state.heldAtMs, 0);
  const openMs = Math.max(state.openMs + openForMs(state, atMs), heldMs);
  const alerts: BreakerMetrics['alerts'][number][] = [];
  if (tripsPerHour > alert.tripsPerHour) alerts.push('breaker_trip_count');
  if (failureRate !== undefined && failureRate > alert.failureRate) alerts.push('failure_rate');
  if (openMs > alert.timeInOpenSecs * 1000) alerts.push('time_in_open_state');
  return {
    breaker_trip_count: state.trips,
    trips_per_hour: tripsPerHour,
    failure_rate: failureRate,
    time_in_open_state: openMs,
    alerts,
  };
}
