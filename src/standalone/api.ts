/** The public types of the standalone breaker. */

import type { Outcome } from '../core/action.ts';
import type { AdmittedCall } from '../core/controls/breaker/breaker.ts';
import type { BreakerStats } from '../core/controls/breaker/stats.ts';
import type { BreakerSettings } from '../core/settings.ts';
import type { Clock } from '../ports/clock.ts';

/** Settings that a breaker without a gear refuses. */
export type GearSetting =
  | 'maxCalls'
  | 'maxCallsSession'
  | 'maxQueue'
  | 'queueTimeoutSecs'
  | 'retries'
  | 'retryBaseSecs'
  | 'retryMaxWaitSecs'
  | 'retryJitter';

/** Options of a standalone breaker. Unlike a gear, the default is no timeout and a window of calls. */
export interface BreakerOptions
  extends Partial<
    Omit<
      BreakerSettings,
      'scope' | 'gracefulDegradation' | 'enableHealthCheck' | 'healthCheckIntervalSecs' | GearSetting
    >
  > {
  /** The name in refusals, errors and changes. @default 'breaker' */
  readonly name?: string;
  /** The source of time and timers. @default the system clock */
  readonly clock?: Clock;
  /** How `execute` refuses: a rejected promise, a thrown error, or the refusal as a value. @default 'reject' */
  readonly onRefusal?: 'reject' | 'throw' | 'return';
}

/** A refusal as a value. The object is the same for a whole open period. */
export interface BreakerRefusal {
  readonly refused: true;
  readonly code: 'circuit_open' | 'concurrency_limit';
  readonly name: string;
  /** When to retry, in the clock's time; absent if only a manual reset closes the breaker. */
  readonly retryAtMs?: number;
  readonly message: string;
}

/** The permit of an admitted call: settle it once. */
export interface BreakerPermit extends AdmittedCall {
  readonly refused: false;
  settled: boolean;
}

/** A change of phase, as listeners receive it. */
export interface BreakerChange {
  readonly type: 'opened' | 'half-opened' | 'closed';
  readonly name: string;
  readonly generation: number;
  readonly cause: string;
}

/** Counts of a standalone breaker. */
export interface StandaloneBreakerStats extends BreakerStats {
  /** Failures that count towards the next trip. */
  readonly countedFailures: number;
  /** Trips since the breaker was created or last reset. */
  readonly trips: number;
  /** Grows with every change of phase. */
  readonly generation: number;
}

/**
 * A standalone breaker. Its methods need their receiver: do not detach them. `R` is the type of a refused result:
 * `never`, or `BreakerRefusal` with `onRefusal: 'return'`.
 */
export interface Breaker<R = never> {
  readonly name: string;
  /** The current phase, in the clock's present time. */
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  /** A copy of the counts. */
  readonly stats: StandaloneBreakerStats;
  /** Runs a function unless the circuit is open. The return value passes unchanged; a promise is the same object. */
  execute<A extends unknown[], V>(fn: (...args: A) => V, ...args: A): V | R;
  /** Like `execute`, for work that can be aborted: the signal aborts at the time limit. */
  executeWithSignal<V>(fn: (signal: AbortSignal) => V): V | R;
  /** Admits or refuses a call that the caller runs itself. */
  admit(): BreakerPermit | BreakerRefusal;
  /** Records the outcome of an admitted call, once. @default outcome is success */
  settle(permit: BreakerPermit, outcome?: Outcome): void;
  /** Opens the breaker for the recovery timeout, and at least until `untilMs` of its clock if given. */
  trip(untilMs?: number): void;
  /** Closes the breaker and clears its counts. */
  reset(): void;
  /** Refuses every call until `release`; the automatic state continues underneath. */
  hold(): void;
  /** Ends a `hold`. */
  release(): void;
  /** Reports that the service is healthy: an open breaker becomes half-open and admits a probe. */
  probeNow(): void;
  /** Adds a listener for changes of phase and returns a function that removes it. */
  onChange(listener: (change: BreakerChange) => void): () => void;
  /** Removes all listeners. */
  [Symbol.dispose](): void;
}

/** Thrown, or the reason of a rejection, if refusals are not values. One per open period, without a stack. */
export class CircuitOpenError extends Error {
  readonly refusal: BreakerRefusal;
  readonly code: BreakerRefusal['code'];

  constructor(refusal: BreakerRefusal) {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(refusal.message);
    Error.stackTraceLimit = limit;
    this.name = 'CircuitBreakerOpen';
    this.refusal = refusal;
    this.code = refusal.code;
  }
}
