/** Running calls: their signals, progress, timeouts and single settlement. */

import type { Outcome, Permit } from '../../core/action.ts';
import type { TimedLink, TimedList } from '../../platform/timer-queue.ts';
import type { Call } from '../api.ts';
import { countError } from '../journal/journal.ts';
import { type Frame, outerOf } from '../runtime/async-context.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { ensureSweep } from '../tasks/sweep.ts';
import { onHalt, type TaskState } from '../tasks/task.ts';
import { recordPermitEvent } from '../tasks/task-events.ts';
import { type Settlement, settleAction } from './admission.ts';
import type { CallSite } from './call-site.ts';

/** A running call, as its settlement needs it. */
export interface LeasedCall {
  readonly site: CallSite;
  readonly permit: Permit;
  settled: boolean;
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
  call.settled = true;
  if (permit.probe) runtime.probes.delete(call);
  call.forget?.();
  try {
    settleAction(runtime, site, permit, outcome, atMs ?? runtime.clock.nowMs(), settling);
  } catch (error) {
    countError(runtime, 'settle', error);
  }
}

/**
 * The one object of a call on the hot path: its context frame, its link in the list of timeouts, and the public
 * `Call`. A signal is created only when the function reads it.
 */
export class LiveCall implements LeasedCall, Call, Frame, TimedLink {
  readonly runtime: Runtime;
  readonly site: CallSite;
  readonly permit: Permit;
  readonly outer: Frame | undefined;
  settled = false;
  controller: AbortController | undefined = undefined;
  reason: unknown = undefined;
  forget: (() => void) | undefined = undefined;
  reject: ((error: unknown) => void) | undefined = undefined;
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
    return this.permit.atMs + this.site.timeoutMs;
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
      else if (task?.halt !== undefined) controller.abort();
      else if (!this.settled) this.forget = onHalt(task, () => controller.abort());
    }
    return this.controller.signal;
  }

  /** Rejects the promise at the timeout; the slot is kept until the work really ends. */
  limit(reject: (error: unknown) => void): void {
    this.reject = reject;
    this.runtime.timeouts.add(this.site.timeoutMs, this);
  }

  /**
   * Ends the timeout of a returned call and drops its promise, which in some engines would keep all outer calls in
   * memory.
   */
  unlimit(): void {
    this.runtime.timeouts.remove(this);
    this.reject = undefined;
  }

  fire(): void {
    const { name, runtime, site } = this;
    const error = timeoutError(name, site.timeoutMs / 1000);
    settleCall(runtime, this, failureOfTimeout, { stillRuns: true });
    this.reason = error;
    this.controller?.abort(error);
    this.reject?.(error);
  }

  progress(): void {
    if (!this.settled) recordPermitEvent(this.runtime, 'permit-renewed', this.site, this.permit);
  }
}

/** The outcome of a timeout: a retryable failure, like a network without a reply. */
export const failureOfTimeout: Outcome = Object.freeze({ kind: 'failure', error: 'NetworkError', errorFingerprint: 1 });

export function timeoutError(name: string, secs: number): DOMException {
  return new DOMException(`'${name}' took longer than ${secs} s`, 'TimeoutError');
}
