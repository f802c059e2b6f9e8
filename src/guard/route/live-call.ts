/** Running calls: their signals, progress, timeouts and single settlement. */

import { cancelled, type Outcome, type Permit } from '../../core/action.ts';
import { callGraceMs } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import { nextTurn } from '../../platform/system-clock.ts';
import type { TimedLink, TimedList } from '../../platform/timer-queue.ts';
import type { Call } from '../api.ts';
import { countError } from '../journal/journal.ts';
import { type Frame, outerOf } from '../runtime/async-context.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { ensureSweep } from '../tasks/sweep.ts';
import { abortReasonOf, onHalt, type TaskState } from '../tasks/task.ts';
import { recordPermitEvent } from '../tasks/task-events.ts';
import { type Settlement, settleAction } from './admission.ts';
import type { CallSite } from './call-site.ts';
import { stackRoom } from './stack-room.ts';

/** A running call, as its settlement needs it. */
export interface LeasedCall {
  readonly site: CallSite;
  readonly permit: Permit;
  settled: boolean;
  /** How the call ended, once it is settled. */
  outcome?: Outcome | undefined;
  /** Whether the signal of the call was aborted. */
  readonly aborted?: boolean;
  /** Removes the call from the halt of its task. */
  forget?: (() => void) | undefined;
}

/** Registers a call that holds a probe, whose lease must be renewed. */
export function holdLease(runtime: Runtime, call: LeasedCall): void {
  runtime.probes.add(call);
  ensureSweep(runtime);
}

/** Settles a call once, also if reading its ending throws. */
export function settleCall(
  runtime: Runtime,
  call: LeasedCall,
  outcome: Outcome,
  settling: Settlement = {},
  atMs?: number,
): void {
  const { site, permit } = call;
  const { breaker } = site;
  const inFlight = breaker?.cell.state.inFlight;
  call.settled = true;
  call.outcome = outcome;
  if (permit.probe) runtime.probes.delete(call);
  call.forget?.();
  try {
    settleAction(runtime, site, permit, outcome, atMs ?? runtime.clock.nowMs(), settling);
  } catch (error) {
    let isRangeError = false;
    try {
      isRangeError = error instanceof RangeError;
    } catch {
      // A hostile value.
    }
    if (isRangeError && breaker !== undefined && breaker.cell.state.inFlight === inFlight) {
      // The stack has overflowed before the breaker got its slot back.
      stackRoom.isTight = true;
      const run = () => settleCall(runtime, call, outcome, settling, atMs);
      stackRoom.owed = { run, next: stackRoom.owed };
      return;
    }
    countError(runtime, 'settle', error);
  }
}

/** Ends the promise of a call before its work: with an error, or with the halt of its task. */
export type GiveUp = (error: unknown, halt?: Refusal) => void;

/**
 * The one object of a call on the hot path: its context frame, its link in the list of timeouts, and the public
 * `Call`. A signal is created only when the function reads it.
 */
export class LiveCall implements LeasedCall, Call, Frame, TimedLink {
  readonly runtime: Runtime;
  readonly site: CallSite;
  /** Replaced when the call reserves more or less. */
  permit: Permit;
  readonly outer: Frame | undefined;
  settled = false;
  outcome: Outcome | undefined = undefined;
  controller: AbortController | undefined = undefined;
  reason: unknown = undefined;
  forget: (() => void) | undefined = undefined;
  giveUp: GiveUp | undefined = undefined;
  list: TimedList | undefined = undefined;
  previous: TimedLink | undefined = undefined;
  next: TimedLink | undefined = undefined;

  constructor(runtime: Runtime, site: CallSite, permit: Permit) {
    this.runtime = runtime;
    this.site = site;
    this.permit = permit;
    this.outer = outerOf(runtime);
    if (permit.probe) holdLease(runtime, this);
  }

  get name(): string {
    return this.site.target.name;
  }

  get task(): TaskState | undefined {
    return this.site.task;
  }

  get call(): Call {
    return this;
  }

  get dueMs(): number {
    const { timeoutMs } = this.site;
    return timeoutMs > 0 ? this.permit.atMs + timeoutMs : Number.POSITIVE_INFINITY;
  }

  get aborted(): boolean {
    return this.controller?.signal.aborted ?? this.site.task?.halt !== undefined;
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      const controller = new AbortController();
      this.controller = controller;
      const { task } = this.site;
      if (this.reason !== undefined) controller.abort(this.reason);
      else if (task?.halt !== undefined) controller.abort(abortReasonOf(task));
      else if (!this.settled) this.forget = onHalt(task, () => controller.abort(abortReasonOf(task!)));
    }
    return this.controller.signal;
  }

  /** Whether the promise of the call can still be given up. */
  get isLimited(): boolean {
    return this.giveUp !== undefined;
  }

  /** Gives up the promise at the timeout or at the halt of the task; the slot is kept until the work really ends. */
  limit(giveUp: GiveUp): void {
    const { timeoutMs } = this.site;
    this.giveUp = giveUp;
    this.runtime.timeouts.add(timeoutMs > 0 ? timeoutMs : Number.POSITIVE_INFINITY, this);
    this.runtime.hold.begin();
  }

  /**
   * Ends the timeout of a returned call and drops its promise, which in some engines would keep all outer calls in
   * memory.
   */
  unlimit(): void {
    if (this.runtime.timeouts.remove(this)) this.runtime.hold.end();
    this.giveUp = undefined;
  }

  fire(): void {
    const { name, runtime, site } = this;
    const error = timeoutError(name, site.timeoutMs / 1000);
    runtime.hold.end();
    settleCall(runtime, this, failureOfTimeout, {
      stillRuns: true,
      failureText: describeTimeout(this.site.timeoutMs),
    });
    this.reason = error;
    this.controller?.abort(error);
    this.giveUp?.(error);
  }

  endIfHalted(): void {
    // A chain waits for the real end of its steps.
    if (this.site.target.kind === 'step') return;
    afterHalt(this.runtime, this.site.task, () => this.endAtHalt(), this.controller !== undefined);
  }

  private endAtHalt(): void {
    const { runtime, site, giveUp } = this;
    const { task } = site;
    if (this.settled || giveUp === undefined || task?.halt === undefined) return;
    this.unlimit();
    this.reason = abortReasonOf(task);
    settleCall(runtime, this, cancelled, { stillRuns: true });
    giveUp(this.reason, task.halt);
  }

  /** Aborts the signal of the call. */
  abort(reason: unknown): void {
    this.reason = reason;
    this.controller?.abort(reason);
  }

  progress(): void {
    if (!this.settled) recordPermitEvent(this.runtime, 'permit-renewed', this.site, this.permit);
  }
}

/**
 * Runs a function when the calls of a halted task are given up: in the next turn if the task took too long, a person
 * stopped it or the work has the signal of its call, which has aborted; otherwise after a short time, in which calls
 * of the same turn may return their results.
 */
export function afterHalt({ clock }: Runtime, task: TaskState | undefined, run: () => void, hasSignal = false): void {
  const control = task?.halt?.control;
  if (control === undefined) return;
  if (hasSignal || control === 'deadline' || control === 'operator') nextTurn(run);
  else clock.after(callGraceMs, run);
}

/** The message of a timeout. */
export function describeTimeout(timeoutMs: number): string {
  return `no answer within ${timeoutMs / 1000} s`;
}

/** The outcome of a timeout: a retryable failure, like a network without a reply. */
export const failureOfTimeout: Outcome = Object.freeze({ kind: 'failure', error: 'NetworkError', errorFingerprint: 1 });

export function timeoutError(name: string, secs: number): DOMException {
  return new DOMException(`'${name}' took longer than ${secs} s`, 'TimeoutError');
}
