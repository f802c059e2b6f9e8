/**
 * A call that a relay passes on: judged before it is passed, settled when its answer passes back. Both happen in the
 * tick of the message where nothing has to wait, so that a relay keeps the order of its messages.
 */

import { type Action, cancelled, type Permit } from '../../core/action.ts';
import type { Ending } from '../../core/classify.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { GuardOptions } from '../call-options.ts';
import { countError } from '../journal/journal.ts';
import { admitAction, explainStop, isStop, needsAnotherRound, refuseForGood } from '../route/admission.ts';
import { settleEnding } from '../route/call.ts';
import { type CallSite, callSiteFor, type Target } from '../route/call-site.ts';
import { LiveCall, settleCall } from '../route/live-call.ts';
import { makeAction } from '../route/proposal.ts';
import { attachHint, refuseOnError } from '../route/refusal-delivery.ts';
import { type JudgedCall, laterRounds } from '../route/rounds.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';
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
  /** Settles a call that its caller cancelled: it says nothing about the tool. */
  cancel(): void;
  /** Renews the lease of the call after a sign of life. */
  progress(): void;
}

export interface RelayRequest {
  readonly target: Target;
  readonly task: TaskState;
  readonly args: readonly unknown[];
  /** The call as a hook has counted it. Then only the breaker and the rules judge it here. */
  readonly hooked?: HookedCall | undefined;
  /** Whether the view of the store is fresh. */
  readonly isFresh?: boolean;
  /** The breaker of the upstream behind the tool. */
  readonly upstream?: UpstreamBreaker | undefined;
  /** Aborts while the call waits or a person is asked. */
  readonly signal?: AbortSignal | undefined;
  /** Passes the call on. */
  begin(call: RelayedCall): void;
  /** Answers the caller with a refusal. */
  refuse(refusal: Refusal): void;
  /** Answers the caller of a call that took too long, or whose task was halted. Its late answer settles it finally. */
  giveUp(error: unknown, halt: Refusal | undefined): void;
}

/** Judges a call and passes it on, in this tick unless it has to wait. Never throws. */
export function relayCall(runtime: Runtime, request: RelayRequest): void {
  const { target, task, args, hooked, upstream, isFresh = false } = request;
  try {
    const own = callSiteFor(runtime, target, task);
    const site = hooked === undefined ? own : takeOver(runtime, own, hooked);
    const act = () => {
      const action = makeAction(runtime, site, args, {}, hooked?.id);
      return hooked === undefined ? action : withHook(action, hooked);
    };
    const blocked = upstream?.judge();
    if (blocked !== undefined) {
      refuseByUpstream(runtime, request, site, act());
      return;
    }
    const first = isFresh ? withoutRefresh(site) : site;
    const admission = admitAction(runtime, first, act(), runtime.clock.nowMs());
    if (!isStop(admission)) begin(runtime, request, site, admission);
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
          if ('stop' in result) request.refuse(explainStop(result.stop, site, runtime.clock.nowMs()));
        },
        (error: unknown) => request.refuse(refuseOnError(runtime, 'admit', target.name, error)),
      );
    }
  } catch (error) {
    request.refuse(refuseOnError(runtime, 'admit', target.name, error));
  }
}

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
  request.begin(makeRelayedCall(runtime, call, upstreamCall, isUncut));
}

function makeRelayedCall(
  runtime: Runtime,
  call: LiveCall,
  upstreamCall: UpstreamCall | undefined,
  isUncut: boolean,
): RelayedCall {
  return {
    settle(ending, upstream, classify, reason) {
      upstreamCall?.settle(upstream, reason);
      call.unlimit();
      const isLate = call.settled;
      settleEnding(runtime, call, ending, classify && { classify }, { isUncut });
      if (!('value' in ending)) return undefined;
      return isUncut || isLate ? ending.value : attachHint(call.site, ending.value);
    },
    cancel() {
      upstreamCall?.settle('unknown');
      call.unlimit();
      if (!call.settled) settleCall(runtime, call, cancelled);
    },
    progress() {
      try {
        call.progress();
      } catch (error) {
        countError(runtime, 'progress', error);
      }
    },
  };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
