/** What a breaker remembers: plain JSON, counts instead of lists of calls. */

import type { BreakerSettings } from '../../settings.ts';
import { emptyBuckets, emptyRing, emptyRunning } from './window.ts';

/** A half-open probe: whose it is, and until when its owner is taken to live. */
export interface Probe {
  readonly id: string | number;
  endMs: number;
}

export interface BreakerState {
  phase: 'closed' | 'open' | 'half-open';
  /** Grows with every change of phase; a result of an earlier generation is late. */
  generation: number;
  /** Failures towards the threshold, and the error they share where only equal errors count. */
  run: number;
  runError: number;
  /** Failures in a row through every phase: told, never decided on. */
  streak: number;
  /** Totals since the last reset; requests include the refused. */
  requests: number;
  failures: number;
  successes: number;
  neutrals: number;
  refused: number;
  late: number;
  inFlight: number;
  /** Openings in a row without closing, and all of them. */
  opens: number;
  trips: number;
  tripTimesMs: readonly number[];
  openedAtMs: number;
  /** When a probe may pass; -1 = not by time. */
  openUntilMs: number;
  cause: string;
  /** Time spent open since it was last closed, finished periods only. */
  openMs: number;
  probes: readonly Probe[];
  probeSuccesses: number;
  /** Held by hand since, or -1. */
  heldAtMs: number;
  /** The last calls, two bits each; absent where no setting looks at them. */
  ring: number[] | null;
  /** Calls of this phase, and those of them that are written in the ring: all after them were good. */
  ringAt: number;
  ringFilled: number;
  ringFailures: number;
  ringSlow: number;
  /** Calls, failures and slow calls by time; absent where no setting looks at them. */
  buckets: number[] | null;
  bucketAt: number;
  /** When the first bucket began: 0, or earlier by what was taken up from elsewhere. */
  bucketFromMs: number;
  /** Calls still running, by when they began, and those past the slow limit; absent where nobody looks. */
  running: number[] | null;
  runningAt: number;
  overdue: number;
}

/** Shared by every breaker that has nothing to list; lists are replaced, never written into. */
export const emptyList: readonly never[] = Object.freeze([]);

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
