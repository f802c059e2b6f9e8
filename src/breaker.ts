/** The breaker alone: for one service, without tasks, policy or store. The same machine that the gear runs. */

import { type Outcome, success } from './core/action.ts';
import {
  type Admitted,
  admitCall,
  countRefusal,
  endWork,
  halfOpenBreaker,
  openBreaker,
  refusalAt,
  resetBreaker,
  settleCall,
} from './core/breaker/breaker.ts';
import { defaultBreaker } from './core/breaker/defaults.ts';
import { exportBreaker, importBreaker, type SavedBreaker } from './core/breaker/saved.ts';
import { type BreakerState, initialBreaker } from './core/breaker/state.ts';
import { classify } from './core/classify.ts';
import { SwitchgearError } from './core/error.ts';
import { checkPart, shown } from './core/part.ts';
import type { BreakerSettings } from './core/settings.ts';
import type { Stop } from './core/verdict.ts';
import { coarseClock, systemClock } from './guard/clock.ts';
import { errorFingerprint } from './guard/fingerprint.ts';
import { timeouts } from './guard/timeouts.ts';
import type { Clock } from './ports/clock.ts';

export type { Outcome, SavedBreaker };

/** What can be said about a breaker that stands alone. No timeout and a window of calls unless said. */
export interface BreakerOptions
  extends Partial<
    Omit<BreakerSettings, 'scope' | 'gracefulDegradation' | 'enableHealthCheck' | 'healthCheckIntervalSecs'>
  > {
  readonly name?: string;
  readonly clock?: Clock;
  /** How `execute` refuses: a rejected promise (default), a throw, or the refusal as a value. */
  readonly onRefusal?: 'reject' | 'throw' | 'return';
  /** A state that `save` wrote, on this machine or another, now or long ago. */
  readonly saved?: SavedBreaker;
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
export interface BreakerPermit extends Admitted {
  readonly refused: false;
  settled: boolean;
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

export interface BreakerChange {
  readonly type: 'opened' | 'half-opened' | 'closed';
  readonly name: string;
  readonly generation: number;
  readonly cause: string;
}

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
  /** The state in remaining durations, so that it can be taken up anywhere. */
  save(): SavedBreaker;
  on(listener: (change: BreakerChange) => void): () => void;
  [Symbol.dispose](): void;
}

function check(fits: boolean, what: string, value: unknown): void {
  if (!fits) throw new SwitchgearError('invalid_argument', `${what}, got ${shown(value)}`);
}

function settingsOf(options: BreakerOptions): BreakerSettings {
  check(
    typeof options === 'object' && options !== null && !Array.isArray(options),
    'options must be an object',
    options,
  );
  const { name = '', clock, onRefusal = 'reject', saved, ...said } = options;
  check(typeof name === 'string', 'name must be a text', name);
  check(['reject', 'throw', 'return'].includes(onRefusal), 'onRefusal must be reject, throw or return', onRefusal);
  const tells = typeof clock?.nowMs === 'function' && typeof clock.after === 'function';
  check(clock === undefined || tells, 'clock must have nowMs and after', clock);
  const { timeoutSecs, ...untimed } = defaultBreaker;
  const part = checkPart(defaultBreaker, said, 'breaker');
  const settings: BreakerSettings = { ...untimed, rateWindow: 'calls', ...part };
  // Together they must leave a limit that can be reached.
  const { trip, failureThreshold, minimumCalls, windowCalls } = settings;
  const holds = `the window holds ${windowCalls} calls`;
  check(trip !== 'count_window' || failureThreshold <= windowCalls, `failureThreshold: ${holds}`, failureThreshold);
  const rated = settings.rateWindow === 'calls' && (settings.failureRateThreshold ?? settings.slowCallSecs);
  check(!rated || minimumCalls <= windowCalls, `minimumCalls: ${holds}`, minimumCalls);
  return settings;
}

/** A breaker of its own. */
export function createBreaker(options: BreakerOptions = {}): Breaker {
  const settings = settingsOf(options);
  const name = options.name ?? 'breaker';
  const real = options.clock ?? systemClock;
  // A clock that was handed in is asked each time; the machine's own costs more than a call and is asked seldom.
  const clock = options.clock ?? coarseClock(systemClock);
  const state =
    options.saved === undefined ? initialBreaker(settings) : importBreaker(options.saved, settings, clock.nowMs());
  const refuses = options.onRefusal ?? 'reject';
  const timed = settings.timeoutSecs === undefined ? undefined : timeouts(real);
  const needsTime = state.buckets !== null || settings.slowCallSecs !== undefined;
  const perCall =
    settings.slowCallSecs !== undefined || settings.maxConcurrent !== undefined || settings.mode !== 'enforce';
  let listeners: readonly ((change: BreakerChange) => void)[] = [];
  let ids = 0;
  let known = state.generation;
  let closedGrant: Admitted = grantOf(state);
  let seeOk = okOf(closedGrant);
  let seeErr = errOf(closedGrant);
  let cached:
    | { generation: number; refusal: BreakerRefusal; error?: CircuitOpenError; promise?: Promise<never> }
    | undefined;

  /** Handlers are made once per generation: a late result knows itself without anything per call. */
  function okOf(grant: Admitted): (value: unknown) => void {
    return (value) => {
      const outcome = outcomeOfValue(value);
      settleCall(state, settings, grant, outcome, needsTime || outcome !== success ? clock.nowMs() : 0);
      if (state.generation !== known) changed();
    };
  }

  function errOf(grant: Admitted): (error: unknown) => void {
    return (error) => {
      const atMs = clock.nowMs();
      settleCall(state, settings, grant, classify({ error }, settings, atMs, errorFingerprint), atMs);
      if (state.generation !== known) changed();
    };
  }

  function outcomeOfValue(value: unknown): Outcome {
    return typeof value === 'object' && value !== null ? classify({ value }, settings, 0, errorFingerprint) : success;
  }

  function changed(): void {
    known = state.generation;
    closedGrant = grantOf(state);
    seeOk = okOf(closedGrant);
    seeErr = errOf(closedGrant);
    cached = undefined;
    const type = state.phase === 'open' ? 'opened' : state.phase === 'closed' ? 'closed' : 'half-opened';
    for (const listener of listeners) {
      try {
        listener({ type, name, generation: known, cause: state.cause });
      } catch (error) {
        // A listener cannot change an outcome; its error is Node's to report.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  function refusalOf(stop: Stop): BreakerRefusal {
    const last = cached?.generation === state.generation ? cached.refusal : undefined;
    if (last?.retryAtMs === stop.retryAtMs && last?.code === stop.code) return last;
    const refusal: BreakerRefusal = Object.freeze({
      refused: true,
      code: stop.code as BreakerRefusal['code'],
      name,
      ...(stop.retryAtMs === undefined ? {} : { retryAtMs: stop.retryAtMs }),
      message:
        stop.code === 'circuit_open'
          ? `Error: CircuitBreakerOpen (System Paused). '${name}' keeps failing`
          : `'${name}' runs as many calls at once as it may (${stop.counters.limit})`,
    });
    cached = { generation: state.generation, refusal };
    return refusal;
  }

  /** The refusal that stands against a call now, if any. */
  function judge(): BreakerRefusal | undefined {
    if (state.phase === 'closed' && !perCall && state.heldAtMs < 0) return undefined;
    if (settings.mode !== 'enforce') return undefined;
    const atMs = clock.nowMs();
    // While it is open nothing changes before its time: one look at the time answers.
    if (state.phase === 'open' && cached?.generation === state.generation && state.heldAtMs < 0) {
      const { code, retryAtMs } = cached.refusal;
      if (code === 'circuit_open' && (retryAtMs === undefined || atMs < retryAtMs)) {
        state.requests++;
        state.refused++;
        return cached.refusal;
      }
    }
    const stop = refusalAt(state, settings, atMs);
    if (stop === undefined) return undefined;
    countRefusal(state, settings, atMs);
    if (state.generation !== known) changed();
    return refusalOf(stop);
  }

  function admit(): BreakerPermit | BreakerRefusal {
    const refusal = judge();
    if (refusal !== undefined) return refusal;
    if (state.phase === 'closed' && !perCall) {
      state.requests++;
      state.inFlight++;
      const { id, generation } = closedGrant;
      return { id, generation, probe: false, atMs: 0, refused: false, settled: false };
    }
    const grant = admitCall(state, settings, ++ids, clock.nowMs());
    if (state.generation !== known) changed();
    const { id, generation, probe, atMs } = grant;
    return { id, generation, probe, atMs, refused: false, settled: false };
  }

  function settle(permit: BreakerPermit, outcome: Outcome = success): void {
    if (permit.settled) return;
    permit.settled = true;
    settleCall(state, settings, permit, outcome, needsTime || outcome !== success ? clock.nowMs() : 0);
    if (state.generation !== known) changed();
  }

  function execute(fn: (...args: unknown[]) => unknown, ...args: unknown[]): unknown {
    if (state.phase !== 'closed' || perCall || timed !== undefined || state.heldAtMs >= 0)
      return executePermitted(fn, args);
    state.requests++;
    state.inFlight++;
    const ok = seeOk;
    const err = seeErr;
    let result: unknown;
    try {
      result = fn(...args);
    } catch (error) {
      err(error);
      throw error;
    }
    if (result instanceof Promise) {
      result.then(ok, err);
      return result;
    }
    if (isThenable(result)) return follow(result, ok, err);
    ok(result);
    return result;
  }

  /** A foreign thenable may start its work on every `then`: it is asked once. */
  function follow(thenable: PromiseLike<unknown>, ok: (value: unknown) => void, err: (error: unknown) => void) {
    const promise = Promise.resolve(thenable);
    promise.then(ok, err);
    return promise;
  }

  function executePermitted(
    fn: (...args: unknown[]) => unknown,
    args: unknown[],
    controller?: AbortController,
  ): unknown {
    const permit = admit();
    if (permit.refused) return refuse(permit);
    const ok = (value: unknown) => finish(permit, outcomeOfValue(value));
    const err = (error: unknown) => finish(permit, classify({ error }, settings, clock.nowMs(), errorFingerprint));
    let result: unknown;
    try {
      result = fn(...args);
    } catch (error) {
      err(error);
      throw error;
    }
    if (!(result instanceof Promise) && !isThenable(result)) {
      ok(result);
      return result;
    }
    const promise = result instanceof Promise ? result : Promise.resolve(result);
    if (timed === undefined) {
      promise.then(ok, err);
      return promise;
    }
    return race(promise, permit, ok, err, controller);
  }

  function finish(permit: BreakerPermit, outcome: Outcome): void {
    if (permit.settled)
      endWork(state); // It had been given up: only its slot was still held.
    else settle(permit, outcome);
  }

  function race(
    promise: Promise<unknown>,
    permit: BreakerPermit,
    ok: (value: unknown) => void,
    err: (error: unknown) => void,
    controller: AbortController | undefined,
  ): Promise<unknown> {
    const timeoutSecs = settings.timeoutSecs!;
    return new Promise((resolve, reject) => {
      const timeout = timed!.add(timeoutSecs * 1000, real.nowMs(), () => {
        const error = new DOMException(`'${name}' took longer than ${timeoutSecs} s`, 'TimeoutError');
        permit.settled = true;
        const outcome = classify({ error }, settings, clock.nowMs(), errorFingerprint);
        settleCall(state, settings, permit, outcome, clock.nowMs(), true);
        if (state.generation !== known) changed();
        controller?.abort(error);
        reject(error);
      });
      promise.then(
        (value) => {
          timed!.remove(timeout);
          ok(value);
          resolve(value);
        },
        (error) => {
          timed!.remove(timeout);
          err(error);
          reject(error);
        },
      );
    });
  }

  function refuse(refusal: BreakerRefusal): unknown {
    if (refuses === 'return') return refusal;
    const shared = cached?.refusal === refusal ? cached : { generation: state.generation, refusal };
    shared.error ??= new CircuitOpenError(refusal);
    if (refuses === 'throw') throw shared.error;
    if (shared.promise === undefined) {
      shared.promise = Promise.reject(shared.error);
      shared.promise.catch(() => {}); // Shared by every refused caller: a refusal nobody awaits is no crash.
    }
    return shared.promise;
  }

  function change(step: (atMs: number) => void): void {
    step(clock.nowMs());
    cached = undefined;
    if (state.generation !== known) changed();
  }

  const breaker: Breaker = {
    name,
    get state() {
      if (state.heldAtMs >= 0) return 'OPEN';
      if (state.phase === 'closed') return 'CLOSED';
      return state.phase === 'open' && refusalAt(state, settings, clock.nowMs()) !== undefined ? 'OPEN' : 'HALF_OPEN';
    },
    get stats() {
      const { requests, failures, successes, neutrals, refused, late, inFlight, trips, generation, run } = state;
      return { requests, failures, successes, neutrals, refused, late, inFlight, trips, generation, run };
    },
    execute: execute as Breaker['execute'],
    executeWithSignal: ((fn: (signal: AbortSignal) => unknown) => {
      const controller = new AbortController();
      return executePermitted(() => fn(controller.signal), [], controller);
    }) as Breaker['executeWithSignal'],
    admit,
    settle,
    trip(untilMs) {
      check(untilMs === undefined || Number.isFinite(untilMs), 'untilMs must be a finite number', untilMs);
      change((atMs) => openBreaker(state, settings, atMs, 'a trip by hand', untilMs));
    },
    reset: () => change(() => resetBreaker(state)),
    hold: () =>
      change((atMs) => {
        state.heldAtMs = Math.max(0, atMs);
      }),
    release: () =>
      change(() => {
        state.heldAtMs = -1;
      }),
    probeNow: () =>
      change((atMs) => {
        if (state.phase === 'open') halfOpenBreaker(state, atMs);
      }),
    save: () => exportBreaker(state, settings, clock.nowMs()),
    on(listener) {
      check(typeof listener === 'function', 'a listener must be a function', listener);
      listeners = [...listeners, listener];
      return () => {
        listeners = listeners.filter((other) => other !== listener);
      };
    },
    [Symbol.dispose]() {
      listeners = [];
    },
  };
  return breaker;
}

function grantOf(state: BreakerState): Admitted {
  return { id: 0, generation: state.generation, probe: false, atMs: 0 };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return typeof (value as PromiseLike<unknown>).then === 'function';
  } catch {
    return false;
  }
}
