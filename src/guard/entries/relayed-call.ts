/**
 * A call that a relay passes on: judged before it is passed, settled when its answer passes back. Both happen in the
 * tick of the message where nothing has to wait, so that a relay keeps the order of its messages.
 */

import { type Action, cancelled, type Permit } from '../../core/action.ts';
import type { Ending } from '../../core/classify.ts';
import { judgeBreaker } from '../../core/controls/breaker/breaker.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Stop } from '../../core/verdict.ts';
import type { GuardOptions, MaxCost } from '../call-options.ts';
import { countError } from '../journal/journal.ts';
import {
  admitAction,
  explainStop,
  isStop,
  isTakenBack,
  needsAnotherRound,
  noteRefusal,
  refuseForGood,
} from '../route/admission.ts';
import { type CallEnding, settleEnding } from '../route/call.ts';
import { type CallSite, callSiteFor, type Target } from '../route/call-site.ts';
import { LiveCall, settleCall } from '../route/live-call.ts';
import { makeAction } from '../route/proposal.ts';
import { attachHint, refuseOnError } from '../route/refusal-delivery.ts';
import { changeReservation, probeReservation, type Reservation } from '../route/reservation.ts';
import { type JudgedCall, laterRounds } from '../route/rounds.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';
import type { PricedUsage } from '../tasks/cost.ts';
import type { TaskState } from '../tasks/task.ts';
import { type HookedCall, returnHookedProbe } from './hooked-calls.ts';
import { giveBack, type UpstreamBreaker, type UpstreamCall, type UpstreamOutcome } from './upstream-breaker.ts';

/** A running call of a relay. */
export interface RelayedCall {
  /**
   * Settles the call once, with its ending and how the upstream did. Returns the value that the caller gets: with a
   * hint for the model about a loop, if there is one.
   */
  settle(ending: Ending, upstream: UpstreamOutcome, classify?: GuardOptions['classify'], reason?: string): unknown;
  /**
   * Settles a model call once, by what it used. An answer that ended early costs what came; without any usage, a
   * failed call costs nothing.
   */
  settleMetered(ending: CallEnding, usage: PricedUsage | undefined, classify?: GuardOptions['classify']): void;
  /**
   * Reserves other amounts for a model call whose answer grows. Returns a stop if a budget has too little left: then
   * nothing changes. A stop that halts has halted the task, unless the amounts are optional.
   */
  reserve(reservation: Reservation, isOptional?: boolean): Stop | undefined;
  /** The stop of a budget that has too little left for such amounts. Changes nothing. */
  probe(reservation: Reservation): Stop | undefined;
  /** The refusal of a stop. */
  explain(stop: Stop): Refusal;
  /** Aborts when the task is halted. */
  readonly signal: AbortSignal;
  /** Settles a call that its caller cancelled: it says nothing about the tool. */
  cancel(): void;
  /** Renews the lease of the call after a sign of life. */
  progress(): void;
}

export interface RelayRequest {
  readonly target: Target;
  /** Undefined for a call that counts for no task. */
  readonly task: TaskState | undefined;
  readonly args: readonly unknown[];
  /** The call as a hook has counted it. Then only the breaker and the rules judge it here. */
  readonly hooked?: HookedCall | undefined;
  /** Whether the view of the store is fresh. */
  readonly isFresh?: boolean;
  /** Why the call is refused whatever the controls say. */
  readonly stop?: Stop | undefined;
  /** What the call reserves before it begins; more or less while it runs. */
  readonly maxCost?: MaxCost | undefined;
  /** The breaker of the upstream behind the tool. */
  readonly upstream?: UpstreamBreaker | undefined;
  /** Aborts while the call waits or a person is asked. */
  readonly signal?: AbortSignal | undefined;
  /** Returns true to take a call back that would be refused: then nothing is counted, and nothing else is called. */
  readonly takeBack?: ((stop: Stop) => boolean) | undefined;
  /** Passes the call on. */
  begin(call: RelayedCall): void;
  /** Answers the caller with a refusal. */
  refuse(refusal: Refusal): void;
  /** Answers the caller of a call that took too long, or whose task was halted. Its late answer settles it finally. */
  giveUp(error: unknown, halt: Refusal | undefined): void;
}

/** Whether the breaker of a target refuses its calls now. Reserves and counts nothing. */
export function refusesCalls(runtime: Runtime, target: Target, task: TaskState): boolean {
  const { breaker } = callSiteFor(runtime, target, task);
  if (breaker === undefined || isObserving(runtime)) return false;
  return judgeBreaker(breaker.cell.state, breaker.settings, runtime.clock.nowMs()).kind !== 'allow';
}

/** Judges a call and passes it on, in this tick unless it has to wait. Never throws. */
export function relayCall(runtime: Runtime, request: RelayRequest): void {
  const { target, task, args, hooked, upstream, maxCost, isFresh = false } = request;
  try {
    const known = callSiteFor(runtime, target, task);
    const own = request.takeBack === undefined ? known : { ...known, takeBack: request.takeBack };
    const site = hooked === undefined ? own : takeOver(runtime, own, hooked);
    const options = maxCost === undefined ? noOptions : { maxCost };
    const act = () => {
      const action = makeAction(runtime, site, args, options, hooked?.id);
      return hooked === undefined ? action : withHook(action, hooked);
    };
    if (request.stop !== undefined) {
      const counted = refuseForGood(runtime, site, act(), request.stop);
      request.refuse(explainStop(counted, site, runtime.clock.nowMs()));
      return;
    }
    const blocked = upstream?.judge();
    if (blocked !== undefined) {
      refuseByUpstream(runtime, request, site, act());
      return;
    }
    const first = !isFresh ? site : site === known ? withoutRefresh(site) : { ...site, isPast: true };
    const admission = admitAction(runtime, first, act(), runtime.clock.nowMs());
    if (!isStop(admission)) begin(runtime, request, site, admission);
    else if (isTakenBack(admission)) return;
    else if (!needsAnotherRound(admission)) request.refuse(explainStop(admission, site, runtime.clock.nowMs()));
    else {
      const judged: JudgedCall<void> = {
        site,
        signal: request.signal,
        act,
        args,
        begin: (permit) => begin(runtime, request, site, permit),
      };
      void laterRounds(runtime, judged, admission).then(
        (result) => {
          if ('stop' in result && !isTakenBack(result.stop))
            request.refuse(explainStop(result.stop, site, runtime.clock.nowMs()));
        },
        (error: unknown) => request.refuse(refuseOnError(runtime, 'admit', target.name, error)),
      );
    }
  } catch (error) {
    request.refuse(refuseOnError(runtime, 'admit', target.name, error));
  }
}

/** Writes a call that is refused before the controls see it, or would be if the gear did not observe. Never throws. */
export function noteRefusedCall(runtime: Runtime, target: Target, stop: Stop, isEnforced: boolean): void {
  try {
    const site = callSiteFor(runtime, target, undefined);
    noteRefusal(runtime, site, makeAction(runtime, site, [], noOptions), stop, isEnforced);
  } catch (error) {
    countError(runtime, 'admit', error);
  }
}

const noOptions: GuardOptions = {};

/** The call site of a call that a hook has counted: the breaker, with the probe that the hook took, and the rules. */
function takeOver(runtime: Runtime, site: CallSite, { probe }: HookedCall): CallSite {
  const { breaker } = site;
  if (probe !== undefined && breaker !== undefined) returnHookedProbe(runtime, breaker, probe);
  const panel = site.panel.filter((bound) => bound === breaker || bound === runtime.boundRules);
  return { ...site, panel, sharedControlCount: panel.length, budgetSet: undefined };
}

function withHook(action: Action, { approved }: HookedCall): Action {
  const approval = approved && { approvedBy: approved.by, approvedFor: { rules: approved.rules } };
  return { ...action, isCounted: true, ...approval };
}

const freshSites = new WeakMap<CallSite, CallSite>();

/** The same call site, for a judgement that need not look into the store again. */
function withoutRefresh(site: CallSite): CallSite {
  let fresh = freshSites.get(site);
  if (fresh === undefined) {
    fresh = { ...site, isPast: true };
    freshSites.set(site, fresh);
  }
  return fresh;
}

/** Refuses a call because of its upstream. The refusal counts like any other of the task. */
function refuseByUpstream(runtime: Runtime, request: RelayRequest, site: CallSite, action: Action): void {
  const upstream = request.upstream!;
  const stop = upstream.judge();
  if (stop === undefined) return;
  const counted = refuseForGood(runtime, site, action, stop);
  const isOwn = counted.code === stop.code && site.task?.halt === undefined;
  request.refuse(isOwn ? upstream.explain(stop) : explainStop(counted, site, runtime.clock.nowMs()));
}

function begin(runtime: Runtime, request: RelayRequest, site: CallSite, permit: Permit): void {
  const upstreamCall = request.upstream?.admit();
  if (upstreamCall !== undefined && 'code' in upstreamCall) {
    // Another process took the probe of the upstream since it was judged.
    giveBack(runtime, site, permit);
    request.refuse(request.upstream!.explain(upstreamCall));
    return;
  }
  const call = new LiveCall(runtime, site, permit);
  const isUncut = isObserving(runtime); // An observing gear does not interrupt calls.
  if (!isUncut) {
    call.limit((error, halt) => {
      upstreamCall?.settle(halt === undefined ? 'failed' : 'unknown', textOf(error));
      request.giveUp(error, halt);
    });
  }
  request.begin(new BegunCall(runtime, call, upstreamCall, isUncut));
}

class BegunCall implements RelayedCall {
  readonly #runtime: Runtime;
  readonly #call: LiveCall;
  readonly #upstreamCall: UpstreamCall | undefined;
  readonly #isUncut: boolean;

  constructor(runtime: Runtime, call: LiveCall, upstreamCall: UpstreamCall | undefined, isUncut: boolean) {
    this.#runtime = runtime;
    this.#call = call;
    this.#upstreamCall = upstreamCall;
    this.#isUncut = isUncut;
  }

  settle(ending: Ending, upstream: UpstreamOutcome, classify?: GuardOptions['classify'], reason?: string): unknown {
    const call = this.#call;
    const isUncut = this.#isUncut;
    this.#upstreamCall?.settle(upstream, reason);
    call.unlimit();
    const isLate = call.settled;
    settleEnding(this.#runtime, call, ending, classify && { classify }, { isUncut });
    if (!('value' in ending)) return undefined;
    return isUncut || isLate ? ending.value : attachHint(call.site, ending.value);
  }

  settleMetered(ending: CallEnding, usage: PricedUsage | undefined, classify?: GuardOptions['classify']): void {
    this.#upstreamCall?.settle('error' in ending ? 'failed' : 'cancelled' in ending ? 'unknown' : 'answered');
    this.#call.unlimit();
    const isPartial = usage !== undefined && !('value' in ending);
    const options = { ...(usage && { usage: () => usage }), ...(classify && { classify }) };
    const how = { isUncut: this.#isUncut, ...(isPartial && { partial: usage }) };
    settleEnding(this.#runtime, this.#call, ending, options, how);
  }

  reserve(reservation: Reservation, isOptional?: boolean): Stop | undefined {
    return changeReservation(this.#runtime, this.#call, reservation, isOptional);
  }

  probe(reservation: Reservation): Stop | undefined {
    return probeReservation(this.#runtime, this.#call, reservation);
  }

  explain(stop: Stop): Refusal {
    return explainStop(stop, this.#call.site, this.#runtime.clock.nowMs());
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  cancel(): void {
    this.#upstreamCall?.settle('unknown');
    this.#call.unlimit();
    if (!this.#call.settled) settleCall(this.#runtime, this.#call, cancelled);
  }

  progress(): void {
    try {
      this.#call.progress();
    } catch (error) {
      countError(this.#runtime, 'progress', error);
    }
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
