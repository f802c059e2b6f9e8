/** The breaker alone: one small object on the same machine that the gear runs. */

import { cancelled, type Outcome, success } from '../core/action.ts';
import {
  type Admitted,
  admitCall,
  countRefusal,
  countSuccess,
  endWork,
  refusalAt,
  settleCall,
} from '../core/breaker/breaker.ts';
import { halfOpenBreaker, openBreaker, resetBreaker } from '../core/breaker/phases.ts';
import type { BreakerState } from '../core/breaker/state.ts';
import { beginRunning } from '../core/breaker/window.ts';
import { classify, peek } from '../core/classify.ts';
import type { Stop } from '../core/verdict.ts';
import { errorFingerprint } from '../guard/fingerprint.ts';
import {
  type Breaker,
  type BreakerChange,
  type BreakerPermit,
  type BreakerRefusal,
  CircuitOpenError,
} from './breaker-face.ts';
import { ended, isPromise, type Seen } from './ended.ts';
import { tellAll } from './listeners.ts';
import { check, type Model } from './model.ts';
import { ClosedPermit, grantOf, nextId } from './permits.ts';
import { type Cached, refusalFor } from './refusals.ts';
import { timedCall } from './timed-call.ts';

const outcomes: readonly unknown[] = ['success', 'failure', 'neutral'];

/** One object per breaker: what is the same for all lives on the prototype and in the model. */
export class BreakerAlone implements Breaker {
  readonly model: Model;
  readonly memory: BreakerState;
  private listeners: readonly ((change: BreakerChange) => void)[] | undefined = undefined;
  private known: number;
  private seeOk: Seen | undefined = undefined;
  private seeErr: Seen | undefined = undefined;
  private grant: Admitted | undefined = undefined;
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
    if (memory.phase !== 'closed' || model.perCall || memory.heldAtMs >= 0) {
      const refusal = this.openRefusal();
      return refusal === undefined ? this.permitted(fn, args) : (this.refuse(refusal) as R);
    }
    if (model.isSlow) {
      const refusal = this.begin();
      if (refusal !== undefined) return this.refuse(refusal) as R;
    } else if (this.seeOk === undefined) this.watch(0);
    memory.requests++;
    memory.inFlight++;
    const ok = this.seeOk!;
    const err = this.seeErr!;
    if (model.timed !== undefined) return this.timed(fn, args, this.grant!, ok, err);
    let result: R;
    try {
      result = fn(...args);
    } catch (error) {
      err(error);
      throw error;
    }
    if (!isPromise(result)) return ended(result, ok, err) as R;
    result.then(ok, err);
    return result;
  }

  executeWithSignal<R>(fn: (signal: AbortSignal) => R): R {
    const controller = new AbortController();
    return this.permitted(() => fn(controller.signal), [], controller);
  }

  admit(): BreakerPermit | BreakerRefusal {
    const { memory, model } = this;
    if (memory.phase === 'closed' && !model.perCall && !model.isSlow && memory.heldAtMs < 0) {
      memory.requests++;
      memory.inFlight++;
      return new ClosedPermit(memory.generation);
    }
    const refusal = this.openRefusal() ?? this.refusal();
    if (refusal !== undefined) return refusal;
    const { id, generation, probe, atMs } = admitCall(memory, model.settings, nextId(), model.clock.nowMs());
    this.look();
    return { id, generation, probe, atMs, refused: false, settled: false };
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

  /**
   * Handlers are made once per generation, and per tick of the clock where the beginning of a call matters:
   * a late result knows itself without anything per call.
   */
  private watch(atMs: number): void {
    const grant = grantOf(this.memory.generation, atMs);
    this.grant = grant;
    this.seeOk = (value) => {
      if (typeof value !== 'object' || value === null) this.succeed(grant);
      else this.learn(grant, this.outcomeOf(value));
    };
    this.seeErr = (error) => this.learn(grant, this.failureOf(error));
  }

  /** A call begins whose length matters. Whether too many are slow is looked at once per tick, or while some are. */
  private begin(): BreakerRefusal | undefined {
    const { memory, model } = this;
    const atMs = model.clock.nowMs();
    if (this.seeOk === undefined || this.grant?.atMs !== atMs || memory.overdue > 0) {
      const refusal = this.refusal();
      if (refusal !== undefined) return refusal;
      this.watch(atMs);
    }
    beginRunning(memory, model.settings, atMs);
    return undefined;
  }

  private succeed(permit: Admitted): void {
    const { memory, model } = this;
    // Of the same generation and no probe: it is closed, as it was when the call began.
    if (model.needsTime || permit.probe || permit.generation !== memory.generation) this.learn(permit, success);
    else countSuccess(memory, model.settings);
  }

  private learn(permit: Admitted, outcome: Outcome, stillRuns?: boolean): void {
    const { memory, model } = this;
    // What may open it is dated exactly: after blocking work the seldom clock would be behind.
    const atMs = outcome !== success ? model.exact.nowMs() : model.needsTime ? model.clock.nowMs() : 0;
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
    tellAll(this.listeners, this.name, memory);
  }

  /** While it is open nothing changes before its time: the last refusal stands, and one look at the time answers. */
  private openRefusal(): BreakerRefusal | undefined {
    const { memory, cached } = this;
    if (memory.phase !== 'open' || cached === undefined || this.model.clock.nowMs() >= cached.untilMs) return undefined;
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
    return this.refusalOf(stop);
  }

  private refusalOf({ code, retryAtMs, counters }: Stop): BreakerRefusal {
    const { generation } = this.memory;
    const last = this.cached?.generation === generation ? this.cached.refusal : undefined;
    if (last?.retryAtMs === retryAtMs && last?.code === code) return last;
    const refusal = refusalFor(this.name, { code, retryAtMs, counters });
    const standing = code === 'circuit_open' && this.memory.phase === 'open' && this.memory.heldAtMs < 0;
    this.cached = { generation, refusal, untilMs: standing ? (retryAtMs ?? Number.POSITIVE_INFINITY) : 0 };
    return refusal;
  }

  private permitted<A extends unknown[], R>(fn: (...args: A) => R, args: A, controller?: AbortController): R {
    const permit = this.admit();
    if (permit.refused) return this.refuse(permit) as R;
    const ok: Seen = (value) => this.settle(permit, this.outcomeOf(value));
    const err: Seen = (error) => this.settle(permit, this.failureOf(error));
    if (this.model.timed !== undefined) return this.timed(fn, args, permit, ok, err, controller);
    try {
      return ended(fn(...args), ok, err) as R;
    } catch (error) {
      err(error);
      throw error;
    }
  }

  /** A call that was given up at its time has failed, but its work goes on. */
  private timed<A extends unknown[], R>(
    fn: (...args: A) => R,
    args: A,
    grant: Admitted,
    ok: Seen,
    err: Seen,
    controller?: AbortController,
  ): R {
    const giveUp = (error: Error) => {
      this.learn(grant, this.failureOf(error), true);
      controller?.abort(error);
    };
    return timedCall(this.model, fn, args, { ok, err, giveUp, endWork: () => endWork(this.memory) });
  }

  private refuse(refusal: BreakerRefusal): unknown {
    const { refuses } = this.model;
    if (refuses === 'return') return refusal;
    const own: Cached = this.cached ?? { generation: 0, refusal, untilMs: 0 };
    own.error ??= new CircuitOpenError(refusal);
    if (refuses === 'throw') throw own.error;
    if (own.promise === undefined) {
      own.promise = Promise.reject(own.error);
      own.promise.catch(() => {}); // Shared by every refused caller: a refusal nobody awaits is no crash.
    }
    return own.promise;
  }
}
