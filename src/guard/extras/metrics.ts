/** Sums up the metrics of all breakers of a name. */

import { type BreakerMetrics, breakerMetrics } from '../../core/controls/breaker/metrics.ts';
import { breakersOf } from '../breakers/breaker-registry.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Trips are summed; the failure rate is the highest and the time in the open state the longest of all breakers. */
export function readMetrics(runtime: Runtime, name: string): BreakerMetrics {
  const atMs = runtime.clock.nowMs();
  const found = breakersOf(runtime, name).map(({ cell, settings }) =>
    breakerMetrics(cell.state, settings, runtime.settings.alerts, atMs),
  );
  const sum = (part: 'breaker_trip_count' | 'trips_per_hour') => found.reduce((total, one) => total + one[part], 0);
  const rates = found.flatMap(({ failure_rate }) => failure_rate ?? []);
  return {
    breaker_trip_count: sum('breaker_trip_count'),
    trips_per_hour: sum('trips_per_hour'),
    failure_rate: rates.length === 0 ? undefined : Math.max(...rates),
    time_in_open_state: Math.max(0, ...found.map((one) => one.time_in_open_state)),
    alerts: [...new Set(found.flatMap(({ alerts }) => alerts))],
  };
}
