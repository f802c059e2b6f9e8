/** All breakers of one name as one: the worst state, the sums of the counts, and a hand on each of them. */

import type { BreakerMetrics } from '../core/breaker/metrics.ts';
import { breakerMetrics } from '../core/breaker/metrics.ts';
import type { AlertSettings } from '../core/settings.ts';
import type { Clock } from '../ports/clock.ts';
import { type Breakers, stateName, statsOf } from './breakers.ts';
import type { BreakerHandle, BreakerStats } from './front-door.ts';
import type { BreakerEntry } from './targets.ts';

export interface HandleHost {
  readonly breakers: Breakers;
  readonly clock: Clock;
  readonly alerts: () => AlertSettings;
  /** Makes sure that there is one, for a hand that wants to hold or trip it before the first call. */
  readonly ensure: (name: string) => void;
}

const rank = { CLOSED: 0, HALF_OPEN: 1, OPEN: 2 } as const;

export function breakerHandle({ breakers, clock, alerts, ensure }: HandleHost, name: string): BreakerHandle {
  const each = (act: (entry: BreakerEntry, atMs: number) => void) => {
    const atMs = clock.nowMs();
    ensure(name);
    for (const entry of breakers.named(name)) act(entry, atMs);
  };
  return {
    name,
    get state() {
      const atMs = clock.nowMs();
      const states = breakers.named(name).map((entry) => stateName(entry, atMs));
      return states.reduce((worst, state) => (rank[state] > rank[worst] ? state : worst), 'CLOSED');
    },
    get stats() {
      return breakers.named(name).map(statsOf).reduce(sum, zero);
    },
    get metrics() {
      const atMs = clock.nowMs();
      const all = breakers
        .named(name)
        .map(({ cell, settings }) => breakerMetrics(cell.state, settings, alerts(), atMs));
      return all.reduce(worstMetrics, noMetrics);
    },
    reset: () => each((entry, atMs) => breakers.reset(entry, atMs)),
    trip: (untilMs) => each((entry, atMs) => breakers.trip(entry, atMs, untilMs)),
    hold() {
      breakers.heldNames.add(name);
      each((entry, atMs) => breakers.hold(entry, atMs));
    },
    release() {
      breakers.heldNames.delete(name);
      each((entry, atMs) => breakers.release(entry, atMs));
    },
  };
}

const zero: BreakerStats = {
  consecutiveFailures: 0,
  halfOpenSuccesses: 0,
  totalFailures: 0,
  totalSuccesses: 0,
  totalNeutrals: 0,
  totalRequests: 0,
  rejectedRequests: 0,
  lateResults: 0,
  inFlight: 0,
};

function sum(a: BreakerStats, b: BreakerStats): BreakerStats {
  const keys = Object.keys(zero) as (keyof BreakerStats)[];
  return Object.fromEntries(keys.map((key) => [key, a[key] + b[key]])) as unknown as BreakerStats;
}

const noMetrics: BreakerMetrics = {
  breaker_trip_count: 0,
  trips_per_hour: 0,
  failure_rate: undefined,
  time_in_open_state: 0,
  alerts: [],
};

function worstMetrics(a: BreakerMetrics, b: BreakerMetrics): BreakerMetrics {
  const rates = [a.failure_rate, b.failure_rate].filter((rate) => rate !== undefined);
  return {
    breaker_trip_count: a.breaker_trip_count + b.breaker_trip_count,
    trips_per_hour: a.trips_per_hour + b.trips_per_hour,
    failure_rate: rates.length === 0 ? undefined : Math.max(...rates),
    time_in_open_state: Math.max(a.time_in_open_state, b.time_in_open_state),
    alerts: [...new Set([...a.alerts, ...b.alerts])],
  };
}
