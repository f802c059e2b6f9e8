/** Calls that are out: their signals, their progress, and the leases that the sweep renews for them. */

import type { Permit } from '../core/action.ts';
import { patienceMaxMs } from '../core/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Call } from './front-door.ts';
import type { Guard } from './guard.ts';
import type { Lane } from './lanes.ts';
import { atHalt } from './tasks.ts';

/** A call that is out, as far as its lease goes. */
export interface Leased {
  readonly lane: Lane;
  readonly permit: Permit;
  /** It is over: its task's halt has nothing to say to it any more. */
  letGo(): void;
  /** Nobody believes any more that it comes back; left out where an expired lease is a failure. */
  expire?(atMs: number): void;
}

/** One call that is out. */
export interface LiveCall extends Leased {
  readonly face: Call;
  settled: boolean;
  readonly aborted: boolean;
  abort(reason: unknown): void;
}

export interface LiveCalls {
  readonly guard: Guard;
  readonly clock: Clock;
  /** Remembers a call whose lease has to be renewed: it holds a probe. */
  add(call: Leased): void;
  remove(call: Leased): void;
  /** Renews the leases of calls that are out; true while there are any. */
  renew(atMs: number): boolean;
  readonly size: number;
}

export function createLiveCalls(guard: Guard, clock: Clock, wake: () => void): LiveCalls {
  const probes = new Set<Leased>();
  return {
    guard,
    clock,
    add(call) {
      probes.add(call);
      wake();
    },
    remove(call) {
      if (call.permit.probe) probes.delete(call);
      call.letGo();
    },
    renew(atMs) {
      for (const call of probes) {
        // A lease says that the owner lives, not that the call may take for ever.
        if (atMs - call.permit.atMs > patienceMaxMs) {
          probes.delete(call);
          call.expire?.(atMs);
        } else guard.renew(call.lane, call.permit, atMs);
      }
      return probes.size > 0;
    },
    get size() {
      return probes.size;
    },
  };
}

export function createLiveCall(calls: LiveCalls, lane: Lane, permit: Permit): LiveCall {
  const call = new LiveCallState(calls, lane, permit);
  if (permit.probe) calls.add(call);
  return call;
}

/** The one hot object of a call: signals are made only when the function asks for one. */
class LiveCallState implements LiveCall, Call {
  readonly calls: LiveCalls;
  readonly lane: Lane;
  readonly permit: Permit;
  settled = false;
  controller: AbortController | undefined = undefined;
  reason: unknown = undefined;
  forget: (() => void) | undefined = undefined;

  constructor(calls: LiveCalls, lane: Lane, permit: Permit) {
    this.calls = calls;
    this.lane = lane;
    this.permit = permit;
  }

  get face(): Call {
    return this;
  }

  get name(): string {
    return this.lane.target.name;
  }

  get aborted(): boolean {
    return this.controller?.signal.aborted ?? this.lane.task?.halt !== undefined;
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      const controller = new AbortController();
      this.controller = controller;
      const { task } = this.lane;
      if (this.reason !== undefined) controller.abort(this.reason);
      else if (task?.halt !== undefined) controller.abort();
      else if (task !== undefined && !this.settled) this.forget = atHalt(task, () => controller.abort());
    }
    return this.controller.signal;
  }

  abort(reason: unknown): void {
    this.reason = reason;
    this.controller?.abort(reason);
  }

  letGo(): void {
    this.forget?.();
  }

  progress(): void {
    if (!this.settled) this.calls.guard.renew(this.lane, this.permit, this.calls.clock.nowMs());
  }
}
