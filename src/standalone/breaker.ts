/** The standalone breaker: one small object around the same state machine that a gear uses. */

import { cancelled, type Outcome, success } from '../core/action.ts';
import { classifyError, classifyValue, peek } from '../core/classify.ts';
import {
  type AdmittedCall,
  countFailure,
  countRefusal,
  countSuccess,
  endWork,
  recordAdmission,
  recordSettlement,
  refusalAt,
} from '../core/controls/breaker/breaker.ts';
import { halfOpenBreaker, handTrip, openBreaker, resetBreaker } from '../core/controls/breaker/phases.ts';
import { type BreakerState, emptyList } from '../core/controls/breaker/state.ts';
import { breakerStats } from '../core/controls/breaker/stats.ts';
import { beginRunning, countRunning } from '../core/controls/breaker/window.ts';
import { callUnawaited } from '../core/thenable.ts';
import type { Breaker, BreakerChange, BreakerPermit, BreakerRefusal } from './api.ts';
import { checkArgument, type ResolvedOptions } from './options.ts';
import { type AbortableCall, ClosedPermit, nextProbeId, sharedGrant } from './permit.ts';
import { type CachedRefusal, deliverBreakerRefusal, fingerprintError, makeRefusal } from './refusal.ts';
import { type CallOwner, type EndingHandler, isPromise, toPromise } from './time-limit.ts';

type ChangeListener = (change: BreakerChange) => void;

const outcomes: readonly unknown[] = ['success', 'failure', 'neutral'];

/** One object per breaker: shared parts live on the prototype and in the resolved options. */
export class StandaloneBreaker implements Breaker, CallOwner {
  readonly config: ResolvedOptions;
  readonly memory: BreakerState;
  private listeners: readonly ChangeListener[] = emptyList;
  private lastGeneration: number;
  /** The shared grant of all calls while the breaker is closed, not held, and calls need no permits of their own. */
  private grant: AdmittedCall | undefined = undefined;
  /** The shared handlers of that grant. */
  private onValue: EndingHandler | undefined = undefined;
  private onError: EndingHandler | undefined = undefined;
  /** The last refusal of the current phase. */
  private cached: CachedRefusal | undefined = undefined;

  constructor(config: ResolvedOptions, memory: BreakerState) {
    this.config = config;
    this.memory = memory;
    this.lastGeneration = memory.generation;
    this.prepare();
  }

  get name(): string {
    return this.config.name;
  }

  get state(): 'CLOSED' | 'OPEN' | 'HALF_OPEN' {
    const { memory, config } = this;
    if (memory.heldAtMs >= 0) return 'OPEN';
    if (memory.phase === 'closed') return 'CLOSED';
    return memory.phase === 'open' && refusalAt(memory, config.settings, config.clock.nowMs()) ? 'OPEN' : 'HALF_OPEN';
  }

  get stats(): Breaker['stats'] {
    const { run, trips, generation } = this.memory;
    return { ...breakerStats(this.memory), countedFailures: run, trips, generation };
  }

  execute<A extends unknown[], R>(fn: (...args: A) => R, ...args: A): R {
    const { memory, config } = this;
    if (this.grant === undefined) {
      return this.lastRefusal() === undefined
        ? this.runPermitted(fn, args)
        : (deliverBreakerRefusal(this.cached!, config) as R);
    }
    if ((this.onValue === undefined || config.isTimed || config.timeLimit?.isSync) && !this.isFastPath())
      return this.runPermitted(fn, args);
    memory.requests++;
    memory.inFlight++;
    const { grant, onValue, onError } = this;
    let result: R;
    try {
      result = fn(...args);
    } catch (error) {
      onError!(error);
      throw error;
    }
    if (!isPromise(result)) return this.settleResult(result, grant) as R;
    if (config.timeLimit !== undefined) return config.timeLimit.race(this, grant, result) as R;
    result.then(onValue, onError);
    return result;
  }

  executeWithSignal<R>(fn: (signal: AbortSignal) => R): R {
    const controller = new AbortController();
    return this.runPermitted(fn, [controller.signal], controller);
  }

  admit(): BreakerPermit | BreakerRefusal {
    const { memory, config, grant } = this;
    if (grant !== undefined && !config.isTimed) {
      memory.requests++;
      memory.inFlight++;
      return new ClosedPermit(grant.generation);
    }
    const refusal = this.lastRefusal() ?? this.findRefusal();
    if (refusal !== undefined) return refusal;
    const admitted = recordAdmission(memory, config.settings, nextProbeId(), config.clock.nowMs());
    this.publishChange();
    return { ...admitted, refused: false, settled: false };
  }

  settle(permit: BreakerPermit, outcome: Outcome = success): void {
    if (permit?.settled !== false) return; // Settled already, or a refusal.
    permit.settled = true;
    if (outcome === success) this.succeed(permit);
    else this.applyOutcome(permit, outcomes.includes(peek(outcome, 'kind')) ? outcome : cancelled);
  }

  trip(untilMs?: number): void {
    checkArgument(untilMs === undefined || Number.isFinite(untilMs), 'untilMs must be a finite number', untilMs);
    openBreaker(this.memory, this.config.settings, this.config.clock.nowMs(), handTrip, untilMs);
    this.publishChange();
  }

  reset(): void {
    resetBreaker(this.memory);
    this.publishChange();
  }

  hold(): void {
    this.memory.heldAtMs = Math.max(0, this.config.clock.nowMs());
    this.prepare();
  }

  release(): void {
    this.memory.heldAtMs = -1;
    this.prepare();
  }

  probeNow(): void {
    if (this.memory.phase === 'open') halfOpenBreaker(this.memory, this.config.clock.nowMs());
    this.publishChange();
  }

  onChange(listener: ChangeListener): () => void {
    checkArgument(typeof listener === 'function', 'a listener must be a function', listener);
    this.listeners = [...this.listeners, listener];
    return () => {
      this.listeners = this.listeners.filter((registered) => registered !== listener);
    };
  }

  [Symbol.dispose](): void {
    this.listeners = emptyList;
  }

  succeeded(grant: AdmittedCall, value: unknown): void {
    if (typeof value !== 'object' || value === null) this.succeed(grant);
    else this.applyOutcome(grant, this.withDate(classifyValue(value, this.config.settings, 0, fingerprintError)));
  }

  failed(grant: AdmittedCall, error: unknown, stillRuns?: boolean): void {
    this.applyOutcome(grant, this.withDate(classifyError(error, this.config.settings, 0, fingerprintError)), stillRuns);
  }

  /** Adds the current time to a requested wait; an outcome without one needs no clock. */
  private withDate(outcome: Outcome): Outcome {
    if (!('retryAtMs' in outcome)) return outcome;
    return { ...outcome, retryAtMs: outcome.retryAtMs! + this.config.exactClock.nowMs() };
  }

  /** Records a call past its time limit as failed; its work still runs. */
  givenUp(grant: AdmittedCall, error: Error): void {
    this.failed(grant, error, true);
    (grant as AbortableCall).controller?.abort(error);
  }

  workEnded(): void {
    endWork(this.memory);
  }

  /** Resets everything that was derived from the previous phase. */
  private prepare(): void {
    const { memory, config } = this;
    const isShared = memory.phase === 'closed' && memory.heldAtMs < 0 && !config.needsPermitPerCall;
    this.grant = isShared ? sharedGrant(memory.generation) : undefined;
    this.onValue = this.onError = this.cached = undefined;
  }

  /** Notifies the listeners if the phase changed. */
  private publishChange(): void {
    const { memory, lastGeneration } = this;
    if (memory.generation === lastGeneration) return;
    this.lastGeneration = memory.generation;
    this.prepare();
    notifyListeners(this.listeners, this.name, memory);
  }

  /** Whether a call of a closed breaker needs only the shared handlers. Creates the handlers. */
  private isFastPath(): boolean {
    const { memory, config, grant } = this;
    if (config.timeLimit?.isSync) return false;
    if (config.isTimed) {
      // The share of slow calls is checked once per tick, and on every call while some calls are overdue.
      const atMs = config.clock.nowMs();
      if (this.onValue !== undefined && grant!.atMs === atMs && memory.overdue === 0) return countRunning(memory, 1);
      if (refusalAt(memory, config.settings, atMs) !== undefined) return false;
      beginRunning(memory, config.settings, atMs);
      this.grant = { id: 0, generation: memory.generation, probe: false, atMs };
    }
    const current = this.grant!;
    this.onValue = (value) => this.succeeded(current, value);
    this.onError = (error) => this.failed(current, error);
    return true;
  }

  private succeed(grant: AdmittedCall): void {
    const { memory, config } = this;
    if (this.isCurrent(grant) && (!config.needsTime || this.isQuick(grant))) countSuccess(memory, config.settings);
    else this.applyOutcome(grant, success);
  }

  /** Whether the breaker is closed and was closed when the call began: same generation, and calls share a grant. */
  private isCurrent({ generation }: AdmittedCall): boolean {
    return this.grant !== undefined && generation === this.memory.generation;
  }

  /** Whether a call ended within the clock tick in which it began, so that its duration does not matter. */
  private isQuick({ atMs }: AdmittedCall): boolean {
    const { memory, config } = this;
    return memory.buckets === null && atMs === config.clock.nowMs() && countRunning(memory, -1);
  }

  private applyOutcome(grant: AdmittedCall, outcome: Outcome, stillRuns?: boolean): void {
    const { memory, config } = this;
    const isQuiet = outcome.kind === 'failure' && !stillRuns && config.tripsByRunOnly && this.isCurrent(grant);
    if (isQuiet && countFailure(memory, config.settings, outcome)) return;
    // An outcome that may open the breaker needs the exact time: after blocking work the coarse clock lags behind.
    const atMs = outcome !== success ? config.exactClock.nowMs() : config.needsTime ? config.clock.nowMs() : 0;
    recordSettlement(memory, config.settings, grant, outcome, atMs, stillRuns);
    this.publishChange();
  }

  /** Returns the cached refusal while it is valid: an open breaker does not change before its retry time. */
  private lastRefusal(): BreakerRefusal | undefined {
    const { memory, cached } = this;
    if (cached === undefined || this.config.clock.nowMs() >= cached.untilMs) return undefined;
    memory.requests++;
    memory.refused++;
    return cached.refusal;
  }

  /** Computes the refusal that applies to a call now, if any. */
  private findRefusal(): BreakerRefusal | undefined {
    const { memory, config } = this;
    if (config.settings.mode !== 'enforce') return undefined;
    const atMs = config.clock.nowMs();
    const stop = refusalAt(memory, config.settings, atMs);
    if (stop === undefined) return undefined;
    countRefusal(memory, config.settings, atMs);
    this.publishChange();
    const last = this.cached?.refusal;
    if (last !== undefined && last.retryAtMs === stop.retryAtMs && last.code === stop.code) return last;
    const stands = stop.code === 'circuit_open' && memory.phase === 'open' && memory.heldAtMs < 0;
    this.cached = makeRefusal(config.name, stop, stands);
    return this.cached.refusal;
  }

  private runPermitted<A extends unknown[], R>(fn: (...args: A) => R, args: A, controller?: AbortController): R {
    const permit = this.admit();
    if (permit.refused) return deliverBreakerRefusal(this.cached!, this.config) as R;
    const grant: AbortableCall = controller === undefined ? permit : { ...permit, controller };
    const beganMs = this.config.timeLimit?.startMs();
    let result: R;
    try {
      result = fn(...args);
    } catch (error) {
      this.failed(grant, error);
      throw error;
    }
    return this.settleResult(result, grant, beganMs) as R;
  }

  /** Settles by the result of a call: a value, a promise, or a foreign thenable. */
  private settleResult(result: unknown, grant: AdmittedCall, beganMs?: number): unknown {
    const { timeLimit: limit } = this.config;
    const work = toPromise(result);
    if (work === undefined) {
      if (limit?.isOver(beganMs)) this.failed(grant, limit.makeError());
      else this.succeeded(grant, result);
      return result;
    }
    if ('error' in work) {
      this.failed(grant, work.error); // Awaiting the result would throw this error.
      return result;
    }
    if (limit !== undefined) return limit.race(this, grant, work);
    work.then(
      (value) => this.succeeded(grant, value),
      (error) => this.failed(grant, error),
    );
    return work;
  }
}

/** Calls each listener with the new phase. A listener that throws or rejects only causes a process warning. */
function notifyListeners(listeners: readonly ChangeListener[], name: string, state: BreakerState): void {
  const { phase } = state;
  const type = phase === 'closed' ? phase : (`${phase}ed` as const);
  for (const listener of listeners) {
    callUnawaited(
      () => listener({ type, name, generation: state.generation, cause: state.cause }),
      (error) =>
        process.emitWarning(`a listener of the breaker '${name}' threw: ${String(error)}`, 'SwitchgearWarning'),
    );
  }
}
