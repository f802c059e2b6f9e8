/** The state of a breaker: plain JSON, counts instead of lists of calls. */

import type { BreakerSettings } from '../../settings.ts';
import { emptyBuckets, emptyRing, emptyRunning } from './window.ts';

/** A half-open probe: its owner, and the end of its lease. */
export interface Probe {
  readonly id: string | number;
  endMs: number;
}

/** The state of one breaker. */
export interface BreakerState {
  phase: 'closed' | 'open' | 'half-open';
  /** Grows with every change of phase; an outcome of an earlier generation is late. */
  generation: number;
  /** Failures towards the threshold, and their common error fingerprint if only equal errors count. */
  run: number;
  runError: number;
  /** Failures in a row across all phases: reported, never decided on. */
  streak: number;
  /** Totals since the last reset; requests include refused ones. */
  requests: number;
  failures: number;
  successes: number;
  neutrals: number;
  refused: number;
  late: number;
  inFlight: number;
  /** Openings in a row without closing, and all openings. */
  opens: number;
  trips: number;
  tripTimesMs: readonly number[];
  openedAtMs: number;
  /** When a probe may pass; -1 = manual recovery, without a time. */
  openUntilMs: number;
  cause: string;
  /** Time in open since the breaker was last closed, finished periods only. */
  openMs: number;
  probes: readonly Probe[];
  probeSuccesses: number;
  /** Start of a manual hold, or -1. */
  heldAtMs: number;
  /** The last calls, two bits each; null if no setting needs them. */
  ring: number[] | null;
  /** Calls of this phase, and how many of them the ring contains: all later calls succeeded. */
  ringAt: number;
  ringFilled: number;
  ringFailures: number;
  ringSlow: number;
  /** Calls, failures and slow calls by time; null if no setting needs them. */
  buckets: number[] | null;
  bucketAt: number;
  /** Start of the first bucket: 0, or earlier after an import. */
  bucketFromMs: number;
  /** Running calls by start time, and those past the slow limit; null if no setting needs them. */
  running: number[] | null;
  runningAt: number;
  overdue: number;
}

/** The shared empty list of every breaker; lists are replaced, never written into. */
export const emptyList: readonly never[] = Object.freeze([]);

/** Creates the state of a closed breaker. */
export function initialBreaker(settings: BreakerSettings): BreakerState {
  return {
    phase: 'closed',
    generation: 1,
    run: 0,
    runError: 0,
    streak: 0,
    requests: 0,
    failures: 0,
    successes: 0,
    neutrals: 0,
    refused: 0,
    late: 0,
    inFlight: 0,
    opens: 0,
    trips: 0,
    tripTimesMs: emptyList,
    openedAtMs: 0,
    openUntilMs: 0,
    cause: '',
    openMs: 0,
    probes: emptyList,
    probeSuccesses: 0,
    heldAtMs: -1,
    ring: emptyRing(settings),
    ringAt: 0,
    ringFilled: 0,
    ringFailures: 0,
    ringSlow: 0,
    buckets: emptyBuckets(settings),
    bucketAt: 0,
    bucketFromMs: 0,
    running: emptyRunning(settings),
    runningAt: 0,
    overdue: 0,
  };
}
