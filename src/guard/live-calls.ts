/** Calls that are out: their signals, their progress, and their one settlement. */

import type { Outcome, Permit } from '../core/action.ts';
import type { Call } from './front-door.ts';
import { keep, type Settling, settle } from './gate.ts';
import type { Lane } from './lanes.ts';
import { countError } from './notes.ts';
import { wake } from './sweep.ts';
import { atHalt } from './task-node.ts';
import type { Works } from './works.ts';

/** A call that is out, as far as its settlement goes. */
export interface Leased {
  readonly lane: Lane;
  readonly permit: Permit;
  settled: boolean;
  /** Takes back what its task's halt would do to it. */
  forget?: (() => void) | undefined;
  /** Nobody believes any more that it comes back; left out where an expired lease is a failure. */
  expire?(): void;
}

/** Remembers a call whose lease has to be renewed: it holds a probe. */
export function lease(works: Works, call: Leased): void {
  works.probes.add(call);
  wake(works);
}

/** Settles a call, once and whatever happens on the way. */
export function finish(works: Works, call: Leased, outcome: Outcome, settling: Settling = {}): void {
  const { lane, permit } = call;
  call.settled = true;
  if (permit.probe) works.probes.delete(call);
  call.forget?.();
  try {
    settle(works, lane, permit, outcome, works.clock.nowMs(), settling);
  } catch (error) {
    countError(works, 'settle', error);
  }
}

/** The one hot object of a call: signals are made only when the function asks for one. */
export class LiveCall implements Leased, Call {
  readonly works: Works;
  readonly lane: Lane;
  readonly permit: Permit;
  settled = false;
  controller: AbortController | undefined = undefined;
  reason: unknown = undefined;
  forget: (() => void) | undefined = undefined;

  constructor(works: Works, lane: Lane, permit: Permit) {
    this.works = works;
    this.lane = lane;
    this.permit = permit;
    if (permit.probe) lease(works, this);
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
      else if (!this.settled) this.forget = atHalt(task, () => controller.abort());
    }
    return this.controller.signal;
  }

  abort(reason: unknown): void {
    this.reason = reason;
    this.controller?.abort(reason);
  }

  progress(): void {
    if (!this.settled) keep(this.works, 'permit-renewed', this.lane, this.permit);
  }
}
