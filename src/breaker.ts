/** The breaker alone: for one service, without tasks, policy or store. The same machine that the gear runs. */

import { cancelled, type Outcome, success } from './core/action.ts';
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
import { classify, peek } from './core/classify.ts';
import { SwitchgearError } from './core/error.ts';
import { sharedSettingsMax } from './core/limits.ts';
import { checkPart, shown } from './core/part.ts';
import type { BreakerSettings } from './core/settings.ts';
import type { Stop } from './core/verdict.ts';
import { coarseClock, systemClock } from './guard/clock.ts';
import { errorFingerprint } from './guard/fingerprint.ts';
import { type Timeouts, timeouts } from './guard/timeouts.ts';
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

/** What breakers of equal options share. */
interface Model {
  readonly name: string;
  readonly settings: BreakerSettings;
  /** A clock that was handed in is asked each time; the machine's own costs more than a call and is asked seldom. */
  readonly clock: Clock;
  readonly exact: Clock;
  readonly refuses: 'reject' | 'throw' | 'return';
  readonly timed: Timeouts | undefined;
  readonly needsTime: boolean;
  /** Whether each call needs a permit of its own while closed. */
  readonly perCall: boolean;
}

function check(fits: boolean, what: string, value: unknown): void {
  if (!fits) throw new SwitchgearError('invalid_argument', `${what}, got ${shown(value)}`);
}

function settingsOf(said: object): BreakerSettings {
  const { timeoutSecs, ...untimed } = defaultBreaker;
  const settings: BreakerSettings = { ...untimed, rateWindow: 'calls', ...checkPart(defaultBreaker, said, 'breaker') };
  // Together they must leave a limit that can be reached.
  const { trip, failureThreshold, minimumCalls, windowCalls } = settings;
  const holds = `the window holds ${windowCalls} calls`;
  check(trip !== 'count_window' || failureThreshold <= windowCalls, `failureThreshold: ${holds}`, failureThreshold);
  const rated = settings.rateWindow === 'calls' && (settings.failureRateThreshold ?? settings.slowCallSecs);
  check(!rated || minimumCalls <= windowCalls, `minimumCalls: ${holds}`, minimumCalls);
  return settings;
}

const models = new Map<string, Model>();
const seldom = coarseClock(systemClock);

/** Options are read once, here: what refuses to be read is refused. */
function readable<T extends object>(given: T): T {
  check(typeof given === 'object' && given !== null && !Array.isArray(given), 'options must be an object', given);
  try {
    return { ...given };
  } catch {
    throw new SwitchgearError('invalid_argument', 'options cannot be read');
  }
}

function modelOf(given: BreakerOptions): Model {
  const options = readable(given);
  const { name = 'breaker', clock, onRefusal = 'reject', ...said } = options;
  check(typeof name === 'string', 'name must be a text', name);
  check(['reject', 'throw', 'return'].includes(onRefusal), 'onRefusal must be reject, throw or return', onRefusal);
  const tells = typeof clock?.nowMs === 'function' && typeof clock.after === 'function';
  check(clock === undefined || tells, 'clock must have nowMs and after', clock);
  const settings = settingsOf(said);
  const key = JSON.stringify([name, onRefusal, settings]);
  const known = clock === undefined ? models.get(key) : undefined;
  if (known !== undefined) return known;
  const exact = clock ?? systemClock;
  const isSlow = settings.slowCallSecs !== undefined;
  const model: Model = {
    name,
    settings,
    clock: clock ?? seldom,
    exact,
    refuses: onRefusal,
    timed: settings.timeoutSecs === undefined ? undefined : timeouts(exact),
    needsTime: isSlow || settings.trip === 'time_window' || settings.rateWindow === 'time',
    perCall: isSlow || settings.maxConcurrent !== undefined || settings.mode !== 'enforce',
  };
  if (clock === undefined) {
    if (models.size >= sharedSettingsMax) models.clear();
    models.set(key, model);
  }
  return model;
}

/** A breaker of its own. */
export function createBreaker(options: BreakerOptions = {}): Breaker {
  const model = modelOf(options);
  return new BreakerAlone(model, initialBreaker(model.settings));
}

/** The state in remaining durations, so that it can be taken up anywhere. */
export function saveBreaker(breaker: Breaker): SavedBreaker {
  const { model, memory } = breaker as BreakerAlone;
  return exportBreaker(memory, model.settings, model.clock.nowMs());
}

/** The breaker that was saved, on this machine or another, now or long ago. */
export function restoreBreaker(saved: SavedBreaker, options: BreakerOptions = {}): Breaker {
  const model = modelOf(options);
  return new BreakerAlone(model, importBreaker(saved, model.settings, model.clock.nowMs()));
}

const outcomes: readonly unknown[] = ['success', 'failure', 'neutral'];

type Seen = (ending: unknown) => void;

/** The refusal of an open period, with what is made of it on demand. */
interface Cached {
  readonly generation: number;
  readonly refusal: BreakerRefusal;
  error?: CircuitOpenError;
  promise?: Promise<never>;
}

/** One object per breaker: what is the same for all lives on the prototype and in the model. */
class BreakerAlone implements Breaker {
  readonly model: Model;
  readonly memory: BreakerState;
  private listeners: readonly ((change: BreakerChange) => void)[] | undefined = undefined;
  private known: number;
  private seeOk: Seen | undefined = undefined;
  private seeErr: Seen | undefined = undefined;
  private cached: Cached | undefined = undefined;

  constructor(model: Model, memory: BreakerState) {
    this.model = model;
    this.memory = memory;
    this.known = memory.generation;
  }

  get name(): string {
    return this.model.name;
  }

  get state(): 'CLOSED' | 'OPEN' | 'HALF_OPEN' {
    const { memory, model } = this;
    if (memory.heldAtMs >= 0) return 'OPEN';
    if (memory.phase === 'closed') return 'CLOSED';
    const refuses = refusalAt(memory, model.settings, model.clock.nowMs()) !== undefined;
    return memory.phase === 'open' && refuses ? 'OPEN' : 'HALF_OPEN';
  }

  get stats(): Breaker['stats'] {
    const { requests, failures, successes, neutrals, refused, late, inFlight, trips, generation, run } = this.memory;
    return { requests, failures, successes, neutrals, refused, late, inFlight, trips, generation, run };
  }

  execute<A extends unknown[], R>(fn: (...args: A) => R, ...args: A): R {
    const { memory, model } = this;
    if (memory.phase !== 'closed' || model.perCall || model.timed !== undefined || memory.heldAtMs >= 0) {
      return this.permitted(fn, args);
    }
    memory.requests++;
    memory.inFlight++;
    if (this.seeOk === undefined) this.watch();
    return followed(fn, args, this.seeOk!, this.seeErr!);
  }

  executeWithSignal<R>(fn: (signal: AbortSignal) => R): R {
    const controller = new AbortController();
    return this.permitted(() => fn(controller.signal), [], controller);
  }

  admit(): BreakerPermit | BreakerRefusal {
    const { memory, model } = this;
    const refusal = this.refusal();
    if (refusal !== undefined) return refusal;
    if (memory.phase === 'closed' && !model.perCall) {
      memory.requests++;
      memory.inFlight++;
      return { id: 0, generation: memory.generation, probe: false, atMs: 0, refused: false, settled: false };
    }
    const { id, generation, probe, atMs } = admitCall(memory, model.settings, ++ids, model.clock.nowMs());
    this.look();
    return { id, generation, probe, atMs, refused: false, settled: false };
  }

  settle(permit: BreakerPermit, outcome: Outcome = success): void {
    if (permit?.settled !== false) return; // Settled before, or a refusal: nothing is held.
    permit.settled = true;
    this.learn(permit, outcomes.includes(peek(outcome, 'kind')) ? outcome : cancelled);
  }

  trip(untilMs?: number): void {
    check(untilMs === undefined || Number.isFinite(untilMs), 'untilMs must be a finite number', untilMs);
    openBreaker(this.memory, this.model.settings, this.model.clock.nowMs(), 'a trip by hand', untilMs);
    this.look();
  }

  reset(): void {
    resetBreaker(this.memory);
    this.look();
  }

  hold(): void {
    this.memory.heldAtMs = Math.max(0, this.model.clock.nowMs());
    this.cached = undefined;
  }

  release(): void {
    this.memory.heldAtMs = -1;
    this.cached = undefined;
  }

  probeNow(): void {
    if (this.memory.phase === 'open') halfOpenBreaker(this.memory, this.model.clock.nowMs());
    this.look();
  }

  on(listener: (change: BreakerChange) => void): () => void {
    check(typeof listener === 'function', 'a listener must be a function', listener);
    this.listeners = [...(this.listeners ?? []), listener];
    return () => {
      this.listeners = this.listeners?.filter((other) => other !== listener);
    };
  }

  [Symbol.dispose](): void {
    this.listeners = undefined;
  }

  /** Handlers are made once per generation: a late result knows itself without anything per call. */
  private watch(): void {
    const grant = grantOf(this.memory.generation);
    this.seeOk = (value) => this.learn(grant, this.outcomeOf(value));
    this.seeErr = (error) => this.learn(grant, this.failureOf(error));
  }

  private learn(permit: Admitted, outcome: Outcome, stillRuns?: boolean): void {
    const { memory, model } = this;
    const atMs = model.needsTime || outcome !== success ? model.clock.nowMs() : 0;
    settleCall(memory, model.settings, permit, outcome, atMs, stillRuns);
    if (memory.generation !== this.known) this.look();
  }

  private outcomeOf(value: unknown): Outcome {
    const isPlain = typeof value !== 'object' || value === null;
    return isPlain ? success : classify({ value }, this.model.settings, 0, errorFingerprint);
  }

  private failureOf(error: unknown): Outcome {
    return classify({ error }, this.model.settings, this.model.clock.nowMs(), errorFingerprint);
  }

  /** Tells of a change of phase; what was made for the phase before is forgotten. */
  private look(): void {
    const { memory, known } = this;
    if (memory.generation === known) return;
    this.known = memory.generation;
    this.seeOk = undefined;
    this.cached = undefined;
    const type = memory.phase === 'open' ? 'opened' : memory.phase === 'closed' ? 'closed' : 'half-opened';
    for (const listener of this.listeners ?? []) {
      try {
        listener({ type, name: this.name, generation: memory.generation, cause: memory.cause });
      } catch (error) {
        // A listener cannot change an outcome; its error is Node's to report.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  /** The refusal that stands against a call now, if any. */
  private refusal(): BreakerRefusal | undefined {
    const { memory, model, cached } = this;
    if (memory.phase === 'closed' && !model.perCall && memory.heldAtMs < 0) return undefined;
    if (model.settings.mode !== 'enforce') return undefined;
    const atMs = model.clock.nowMs();
    // While it is open nothing changes before its time: one look at the time answers.
    if (memory.phase === 'open' && cached?.generation === memory.generation && memory.heldAtMs < 0) {
      const { code, retryAtMs } = cached.refusal;
      if (code === 'circuit_open' && (retryAtMs === undefined || atMs < retryAtMs)) {
        memory.requests++;
        memory.refused++;
        return cached.refusal;
      }
    }
    const stop = refusalAt(memory, model.settings, atMs);
    if (stop === undefined) return undefined;
    countRefusal(memory, model.settings, atMs);
    this.look();
    return this.refusalOf(stop);
  }

  private refusalOf({ code, retryAtMs, counters }: Stop): BreakerRefusal {
    const { generation } = this.memory;
    const last = this.cached?.generation === generation ? this.cached.refusal : undefined;
    if (last?.retryAtMs === retryAtMs && last?.code === code) return last;
    const refusal: BreakerRefusal = Object.freeze({
      refused: true,
      code: code as BreakerRefusal['code'],
      name: this.name,
      ...(retryAtMs === undefined ? {} : { retryAtMs }),
      message:
        code === 'circuit_open'
          ? `Error: CircuitBreakerOpen (System Paused). '${this.name}' keeps failing`
          : `'${this.name}' runs as many calls at once as it may (${counters.limit})`,
    });
    this.cached = { generation, refusal };
    return refusal;
  }

  private permitted<A extends unknown[], R>(fn: (...args: A) => R, args: A, controller?: AbortController): R {
    const permit = this.admit();
    if (permit.refused) return this.refuse(permit) as R;
    const finish = (outcome: Outcome) => {
      if (permit.settled)
        endWork(this.memory); // It had been given up: only its slot was still held.
      else this.settle(permit, outcome);
    };
    const ok: Seen = (value) => finish(this.outcomeOf(value));
    const err: Seen = (error) => finish(this.failureOf(error));
    const { timed } = this.model;
    if (timed === undefined) return followed(fn, args, ok, err);
    return followed(fn, args, ok, err, (promise) => this.race(promise, permit, ok, err, timed, controller));
  }

  /** Ends with the work, or when its time is up; the slot is kept until the work really ends. */
  private race(
    promise: Promise<unknown>,
    permit: BreakerPermit,
    ok: Seen,
    err: Seen,
    timed: Timeouts,
    controller: AbortController | undefined,
  ): Promise<unknown> {
    const { settings, exact } = this.model;
    const timeoutSecs = settings.timeoutSecs!;
    return new Promise((resolve, reject) => {
      const timeout = timed.add(timeoutSecs * 1000, exact.nowMs(), () => {
        const error = new DOMException(`'${this.name}' took longer than ${timeoutSecs} s`, 'TimeoutError');
        permit.settled = true;
        this.learn(permit, this.failureOf(error), true);
        controller?.abort(error);
        reject(error);
      });
      const ended = (see: Seen, pass: Seen) => (ending: unknown) => {
        timed.remove(timeout);
        see(ending);
        pass(ending);
      };
      promise.then(ended(ok, resolve), ended(err, reject));
    });
  }

  private refuse(refusal: BreakerRefusal): unknown {
    const { refuses } = this.model;
    if (refuses === 'return') return refusal;
    const own: Cached = this.cached ?? { generation: 0, refusal };
    own.error ??= new CircuitOpenError(refusal);
    if (refuses === 'throw') throw own.error;
    if (own.promise === undefined) {
      own.promise = Promise.reject(own.error);
      own.promise.catch(() => {}); // Shared by every refused caller: a refusal nobody awaits is no crash.
    }
    return own.promise;
  }
}

let ids = 0;

const grants: Admitted[] = [];

/** The admission of any call of a closed generation: nothing in it tells one breaker from another. */
function grantOf(generation: number): Admitted {
  const known = grants[generation];
  if (known !== undefined) return known;
  const grant: Admitted = { id: 0, generation, probe: false, atMs: 0 };
  if (generation < sharedSettingsMax) grants[generation] = grant;
  return grant;
}

/** Calls a function and sees how it ends. A promise is handed back itself, or what `instead` makes of it. */
function followed<A extends unknown[], R>(
  fn: (...args: A) => R,
  args: A,
  ok: Seen,
  err: Seen,
  instead?: (promise: Promise<unknown>) => unknown,
): R {
  let result: R;
  try {
    result = fn(...args);
  } catch (error) {
    err(error);
    throw error;
  }
  let promise: Promise<unknown>;
  if (result instanceof Promise) promise = result;
  else if (isThenable(result))
    promise = Promise.resolve(result); // It may start its work on every `then`: asked once.
  else {
    ok(result);
    return result;
  }
  if (instead !== undefined) return instead(promise) as R;
  promise.then(ok, err);
  return promise as R;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof peek(value, 'then') === 'function' && typeof value === 'object';
}
