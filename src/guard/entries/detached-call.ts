/** A call that starts in one process and ends in another: its permit is plain data, which the caller stores. */

import type { Action, Permit } from '../../core/action.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Stop } from '../../core/verdict.ts';
import { admitAction, explainStop, isStop, needsAnotherRound, refuseForGood } from '../route/admission.ts';
import { type CallEnding, settleEnding } from '../route/call.ts';
import { type CallSite, callSiteFor, type Target } from '../route/call-site.ts';
import { makeAction } from '../route/proposal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { TaskState } from '../tasks/task.ts';
import { findTooDeep } from './delegate.ts';
import { returnHookedProbe } from './hooked-calls.ts';

/** A proposed call of a host. */
export interface ProposedCall {
  /** The host's id of the call. */
  readonly id: string;
  readonly target: Target;
  readonly args: readonly unknown[];
  readonly turnId?: string | undefined;
  /** The person who approved the call, in the round after a question. */
  readonly approvedBy?: string | undefined;
  /** The rules that the approval is for. */
  readonly approvedRules?: readonly string[] | undefined;
}

/** The decision on a call: a permit, a refusal, or a stop that waits or asks. */
export type ProposalResult =
  | { readonly permit: Permit }
  | { readonly refusal: Refusal; readonly stop: Stop }
  | { readonly later: Stop };

export function proposeDetached(runtime: Runtime, task: TaskState, call: ProposedCall): ProposalResult {
  const atMs = runtime.clock.nowMs();
  const site = callSiteFor(runtime, call.target, task);
  const tooDeep = call.target.kind === 'delegation' ? findTooDeep(runtime, task, call.target.name) : undefined;
  if (tooDeep !== undefined) {
    const stop = refuseForGood(runtime, site, proposed(runtime, site, call), tooDeep, 'depth');
    return { refusal: explainStop(stop, site, atMs), stop };
  }
  const admission = admitAction(runtime, site, proposed(runtime, site, call), atMs);
  if (!isStop(admission)) return { permit: withStoredProbeId(site, admission) };
  const isAsked = admission.raise === undefined || runtime.limitQuestions === 'at calls';
  if (needsAnotherRound(admission) && isAsked) return { later: admission };
  const stop = needsAnotherRound(admission)
    ? refuseForGood(runtime, site, proposed(runtime, site, call), admission)
    : admission;
  return { refusal: explainStop(stop, site, atMs), stop };
}

/** Refuses a call that waited or was asked about. */
export function refuseDetached(
  runtime: Runtime,
  task: TaskState,
  call: ProposedCall,
  later: Stop,
  code?: 'rule_declined' | 'rule_unanswered',
): Refusal {
  const site = callSiteFor(runtime, call.target, task);
  const verdict: Stop = code === undefined ? later : { ...later, kind: 'deny', code };
  const stop = refuseForGood(
    runtime,
    site,
    proposed(runtime, site, call),
    verdict,
    later.kind === 'wait' ? 'wait' : 'ask',
  );
  return explainStop(stop, site, runtime.clock.nowMs());
}

/**
 * Settles a call by its permit. The caller forgets the permit, so that the call is settled once.
 * @param isPassed Whether a proxy passed the call on and settles it at the breaker.
 */
export function settleDetached(
  runtime: Runtime,
  task: TaskState,
  target: Target,
  permit: Permit,
  ending: CallEnding,
  isPassed = false,
): void {
  const site = callSiteFor(runtime, target, task);
  settleEnding(
    runtime,
    { site: isPassed ? leaveBreaker(runtime, site, permit) : site, permit, settled: false },
    ending,
  );
}

/** The call site without its breaker, to which a probe is returned. */
function leaveBreaker(runtime: Runtime, site: CallSite, { action: { id }, generation, probe }: Permit): CallSite {
  const { breaker, ...others } = site;
  if (breaker === undefined) return site;
  if (probe) returnHookedProbe(runtime, breaker, { id, generation });
  const panel = site.panel.filter((bound) => bound !== breaker);
  return { ...others, breaker: undefined, panel, sharedControlCount: site.sharedControlCount - 1 };
}

function proposed(runtime: Runtime, site: CallSite, { id, args, turnId, ...approval }: ProposedCall) {
  // Between two calls the host asks its model.
  const action: Action = { ...makeAction(runtime, site, args, {}, id, turnId), afterModel: true };
  const { approvedBy, approvedRules: rules } = approval;
  if (approvedBy === undefined) return action;
  return { ...action, approvedBy, ...(rules !== undefined && { approvedFor: { rules } }) };
}

/** Adds the stored id of a probe to its permit, with which another process settles it. */
function withStoredProbeId({ breaker }: CallSite, permit: Permit): Permit {
  const { action, probe } = permit;
  const probeEntry = probe
    ? breaker?.cell.state.probes.find(({ id }) => String(id).endsWith(`/${action.id}`))
    : undefined;
  return probeEntry === undefined ? permit : { ...permit, action: { ...action, id: probeEntry.id } };
}
