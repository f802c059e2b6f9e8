/** The breaker alone: one small object on the same machine that the gear runs. */

import { cancelled, type Outcome, success } from '../core/action.ts';
import { classifyError, classifyValue, peek } from '../core/classify.ts';
import {
  type AdmittedCall,
  admitCall,
  countFailure,
  countRefusal,
  countSuccess,
  endWork,
  refusalAt,
  settleCall,
} from '../core/controls/breaker/breaker.ts';
import { halfOpenBreaker, openBreaker, resetBreaker } from '../core/controls/breaker/phases.ts';
import { type BreakerState, emptyList } from '../core/controls/breaker/state.ts';
import { beginRunning, countRunning } from '../core/controls/breaker/window.ts';
import type { Breaker, BreakerChange, BreakerPermit, BreakerRefusal } from './api.ts';
import { tellAll } from './listeners.ts';
import { check, type Model } from './options.ts';
import { ClosedPermit, type Cut, grantOf, nextId } from './permit.ts';
import { type Cached, refusalFor, refuse } from './refusal.ts';
import { sameError } from './same-error.ts';
import { isPromise, promiseOf, type Seen } from './seen.ts';
import type { Owner } from './time-limit.ts';

const outcomes: readonly unknown[] = ['success', 'failure', 'neutral'];

/** One object per breaker: what is the same for all lives on the prototype and in the model. */
export class BreakerAlone implements Breaker, Owner {
  readonly model: Model;
  readonly memory: BreakerState;
  private listeners: readonly ((change: BreakerChange) => void)[] = emptyList;
  private known: number;
  /** What all calls are admitted with now: it is closed and not held, and a call needs no permit of its own. */
  private grant: AdmittedCall | undefined = undefined;
  /** The handlers of that grant, where a call needs nothing else. */
  private ok: Seen | undefined = undefined;
  private err: Seen | undefined = undefined;
  /** The last refusal of this phase. */
  private cached: Cached | undefined = undefined;

  constructor(model: Model, memory: BreakerState) {
    this.model = model;
    this.memory = memory;
    this.known = memory.generation;
    this.prepare();
  }

  get name(): string {
    return this.model.name;
  }

  get state(): 'CLOSED' | 'OPEN' | 'HALF_OPEN' {
    const { memory, model } = this;
    if (memory.heldAtMs >= 0) return 'OPEN';
    if (memory.phase === 'closed') return 'CLOSED';
    return memory.phase === 'open' && refusalAt(memory, model.settings, model.clock.nowMs()) ? 'OPEN' : 'HALF_OPEN';
  }

  get stats(): Breaker['stats'] {
    const { requests, failures, successes, neutrals, refused, late, inFlight, trips, generation, run } = this.memory;
    return { requests, failures, successes, neutrals, refused, late, inFlight, trips, generation, run };
  }

  execute<A extends unknown[], R>(fn: (...args: A) => R, ...args: A): R {
    const { memory, model } = this;
    if (this.grant === undefined) {
      return this.standing() === undefined ? this.permitted(fn, args) : (refuse(this.cached!, model) as R);
    }
    if ((this.ok === undefined || model.isSlow || model.limit?.isSync) && !this.isStraight())
      return this.permitted(fn, args);
    memory.requests++;
    memory.inFlight++;
    const { grant, ok, err } = this;
    let result: R;
    try {
      result = fn(...args);
    } catch (error) {
      err!(error);
      throw error;
    }
    if (!isPromise(result)) return this.came(result, grant) as R;
    if (model.limit !== undefined) return model.limit.race(this, grant, result) as R;
    result.then(ok, err);
    return result;
  }

  executeWithSignal<R>(fn: (signal: AbortSignal) => R): R {
    const controller = new AbortController();
    return this.permitted(fn, [controller.signal], controller);
  }

  admit(): BreakerPermit | BreakerRefusal {
    const { memory, model, grant } = this;
    if (grant !== undefined && !model.isSlow) {
      memory.requests++;
      memory.inFlight++;
      return new ClosedPermit(grant.generation);
    }
    const refusal = this.standing() ?? this.refusal();
    if (refusal !== undefined) return refusal;
    const admitted = admitCall(memory, model.settings, nextId(), model.clock.nowMs());
    this.look();
    return { ...admitted, refused: false, settled: false };
  }

  settle(permit: BreakerPermit, outcome: Outcome = success): void {
    if (permit?.settled !== false) return; // Settled before, or a refusal: nothing is held.
    permit.settled = true;
    if (outcome === success) this.succeed(permit);
    else this.learn(permit, outcomes.includes(peek(outcome, 'kind')) ? outcome : cancelled);
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
    this.prepare();
  }

  release(): void {
    this.memory.heldAtMs = -1;
    this.prepare();
  }

  probeNow(): void {
    if (this.memory.phase === 'open') halfOpenBreaker(this.memory, this.model.clock.nowMs());
    this.look();
  }

  on(listener: (change: BreakerChange) => void): () => void {
    check(typeof listener === 'function', 'a listener must be a function', listener);
    this.listeners = [...this.listeners, listener];
    return () => {
      this.listeners = this.listeners.filter((other) => other !== listener);
    };
  }

  [Symbol.dispose](): void {
    this.listeners = emptyList;
  }

  succeeded(grant: AdmittedCall, value: unknown): void {
    if (typeof value !== 'object' || value === null) this.succeed(grant);
    else this.learn(grant, this.dated(classifyValue(value, this.model.settings, 0, sameError)));
  }

  failed(grant: AdmittedCall, error: unknown, stillRuns?: boolean): void {
    this.learn(grant, this.dated(classifyError(error, this.model.settings, 0, sameError)), stillRuns);
  }

  /** A wait that was asked for begins now; without one nobody needs to know the time. */
  private dated(outcome: Outcome): Outcome {
    if (!('retryAtMs' in outcome)) return outcome;
    return { ...outcome, retryAtMs: outcome.retryAtMs! + this.model.exact.nowMs() };
  }

  /** A call that was given up at its time has failed, but its work goes on. */
  givenUp(grant: AdmittedCall, error: Error): void {
    this.failed(grant, error, true);
    (grant as Cut).controller?.abort(error);
  }

  workEnded(): void {
    endWork(this.memory);
  }

  /** Forgets what was made for the phase before. */
  private prepare(): void {
    const { memory, model } = this;
    const isShared = memory.phase === 'closed' && memory.heldAtMs < 0 && !model.perCall;
    this.grant = isShared ? grantOf(memory.generation) : undefined;
    this.ok = this.err = this.cached = undefined;
  }

  /** Tells of a change of phase. */
  private look(): void {
    const { memory, known } = this;
    if (memory.generation === known) return;
    this.known = memory.generation;
    this.prepare();
    tellAll(this.listeners, this.name, memory);
  }

  /** Whether a call of a closed breaker needs nothing but the handlers that all share: they are ready then. */
  private isStraight(): boolean {
    const { memory, model, grant } = this;
    if (model.limit?.isSync) return false;
    if (model.isSlow) {
      // Whether too many are slow is looked at once per tick, or while some are.
      const atMs = model.clock.nowMs();
      if (this.ok !== undefined && grant!.atMs === atMs && memory.overdue === 0) return countRunning(memory, 1);
      if (refusalAt(memory, model.settings, atMs) !== undefined) return false;
      beginRunning(memory, model.settings, atMs);
      this.grant = { id: 0, generation: memory.generation, probe: false, atMs };
    }
    const own = this.grant!;
    this.ok = (value) => this.succeeded(own, value);
    this.err = (error) => this.failed(own, error);
    return true;
  }

  private succeed(grant: AdmittedCall): void {
    const { memory, model } = this;
    if (this.isOwn(grant) && (!model.needsTime || this.isQuick(grant))) countSuccess(memory, model.settings);
    else this.learn(grant, success);
  }

  /** Of the same generation while calls share a grant: it is closed, as it was when the call began. */
  private isOwn({ generation }: AdmittedCall): boolean {
    return this.grant !== undefined && generation === this.memory.generation;
  }

  /** Whether a call ended within the tick in which it began: nobody needs to know how long it took. */
  private isQuick({ atMs }: AdmittedCall): boolean {
    const { memory, model } = this;
    return memory.buckets === null && atMs === model.clock.nowMs() && countRunning(memory, -1);
  }

  private learn(grant: AdmittedCall, outcome: Outcome, stillRuns?: boolean): void {
    const { memory, model } = this;
    const isQuiet = outcome.kind === 'failure' && !stillRuns && model.byRun && this.isOwn(grant);
    if (isQuiet && countFailure(memory, model.settings, outcome)) return;
    // What may open it is dated exactly: after blocking work the seldom clock would be behind.
    const atMs = outcome !== success ? model.exact.nowMs() : model.needsTime ? model.clock.nowMs() : 0;
    settleCall(memory, model.settings, grant, outcome, atMs, stillRuns);
    this.look();
  }

  /** While it is open nothing changes before its time: the last refusal stands, and one look at the time answers. */
  private standing(): BreakerRefusal | undefined {
    const { memory, cached } = this;
    if (cached === undefined || this.model.clock.nowMs() >= cached.untilMs) return undefined;
    memory.requests++;
    memory.refused++;
    return cached.refusal;
  }

  /** The refusal that stands against a call now, if any. */
  private refusal(): BreakerRefusal | undefined {
    const { memory, model } = this;
    if (model.settings.mode !== 'enforce') return undefined;
    const atMs = model.clock.nowMs();
    const stop = refusalAt(memory, model.settings, atMs);
    if (stop === undefined) return undefined;
    countRefusal(memory, model.settings, atMs);
    this.look();
    const last = this.cached?.refusal;
    if (last !== undefined && last.retryAtMs === stop.retryAtMs && last.code === stop.code) return last;
    const stands = stop.code === 'circuit_open' && memory.phase === 'open' && memory.heldAtMs < 0;
    this.cached = refusalFor(model.name, stop, stands);
    return this.cached.refusal;
  }

  private permitted<A extends unknown[], R>(fn: (...args: A) => R, args: A, controller?: AbortController): R {
    const permit = this.admit();
    if (permit.refused) return refuse(this.cached!, this.model) as R;
    const grant: Cut = controller === undefined ? permit : { ...permit, controller };
    const beganMs = this.model.limit?.began();
    let result: R;
    try {
      result = fn(...args);
    } catch (error) {
      this.failed(grant, error);
      throw error;
    }
    return this.came(result, grant, beganMs) as R;
  }

  /** Sees to the end of what came back: a value, a promise, or a thenable of somebody else's. */
  private came(result: unknown, grant: AdmittedCall, beganMs?: number): unknown {
    const { limit } = this.model;
    const work = promiseOf(result);
    if (work === undefined) {
      if (limit?.isOver(beganMs)) this.failed(grant, limit.error());
      else this.succeeded(grant, result);
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
