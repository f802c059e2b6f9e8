/** A breaker that stands alone, as its user holds it. */

import type { Outcome } from '../core/action.ts';
import type { AdmittedCall } from '../core/controls/breaker/breaker.ts';
import type { BreakerState } from '../core/controls/breaker/state.ts';
import type { BreakerSettings } from '../core/settings.ts';
import type { Clock } from '../ports/clock.ts';

/** What can be said about a breaker that stands alone. No timeout and a window of calls unless said. */
export interface BreakerOptions
  extends Partial<
    Omit<BreakerSettings, 'scope' | 'gracefulDegradation' | 'enableHealthCheck' | 'healthCheckIntervalSecs'>
  > {
  readonly name?: string;
  readonly clock?: Clock;
  /** How `execute` refuses: a rejected promise (default), a throw, or the refusal as a value. */
  readonly onRefusal?: 'reject' | 'throw' | 'return';
}

/** A refusal: a value first. It is the same object for a whole open period. */
export interface BreakerRefusal {
  readonly refused: true;
  readonly code: 'circuit_open' | 'concurrency_limit';
  readonly name: string;
  /** When to try again, in the clock's time; absent where only a hand opens the way. */
  readonly retryAtMs?: number;
  readonly message: string;
}

/** What an admission hands out: settle it once. */
export interface BreakerPermit extends AdmittedCall {
  readonly refused: false;
  settled: boolean;
}

export interface BreakerChange {
  readonly type: 'opened' | 'half-opened' | 'closed';
  readonly name: string;
  readonly generation: number;
  readonly cause: string;
}

/** A breaker in hand. Its methods belong to it: call them on it. */
export interface Breaker {
  readonly name: string;
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  readonly stats: Readonly<
    Pick<
      BreakerState,
      | 'requests'
      | 'failures'
      | 'successes'
      | 'neutrals'
      | 'refused'
      | 'late'
      | 'inFlight'
      | 'trips'
      | 'generation'
      | 'run'
    >
  >;
  /** Runs a function unless the circuit is open. What it returns passes untouched; a promise is handed back itself. */
  execute<A extends unknown[], R>(fn: (...args: A) => R, ...args: A): R;
  /** As execute, for work that can be cut: the signal aborts when its time is up. */
  executeWithSignal<R>(fn: (signal: AbortSignal) => R): R;
  admit(): BreakerPermit | BreakerRefusal;
  settle(permit: BreakerPermit, outcome?: Outcome): void;
  trip(untilMs?: number): void;
  reset(): void;
  /** Refuses everything until released; the automatic state lives on below. */
  hold(): void;
  release(): void;
  /** Somebody found the service well: a probe may pass. */
  probeNow(): void;
  on(listener: (change: BreakerChange) => void): () => void;
  [Symbol.dispose](): void;
}

/** Thrown or rejected with where a refusal cannot be a value. One per open period, without a stack. */
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
