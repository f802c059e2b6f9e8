/** A call that begins in one process and ends in another: its permit is a plain value, kept by whoever asks. */

import { cancelled, type Outcome, type Permit } from '../../core/action.ts';
import { classify, type Ending } from '../../core/classify.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Stop } from '../../core/verdict.ts';
import { explainStop, isStop, needsAnotherRound, refuseForGood } from '../route/admission.ts';
import { type CallSite, callSiteFor, type Target } from '../route/call-site.ts';
import { settleCall } from '../route/live-call.ts';
import { noLists, readSettlement } from '../route/outcome.ts';
import { makeAction } from '../route/proposal.ts';
import { errorFingerprint } from '../runtime/fingerprint.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { TaskState } from '../tasks/task.ts';

/** A call as its host proposes it. */
export interface ProposedCall {
  /** The host's own id. */
  readonly id: string;
  readonly target: Target;
  readonly args: readonly unknown[];
  readonly turnId?: string | undefined;
  /** Who approved it, in the round after a question. */
  readonly approvedBy?: string | undefined;
}

/** What is said to a call: it may run, it is refused, or it has to wait or to be asked about. */
export type ProposalResult =
  | { readonly permit: Permit }
  | { readonly refusal: Refusal; readonly stop: Stop }
  | { readonly later: Stop };

export function proposeDetached(runtime: Runtime, task: TaskState, call: ProposedCall): ProposalResult {
  const atMs = runtime.clock.nowMs();
  const site = callSiteFor(runtime, call.target, task);
  const admission = runtime.admitAction(runtime, site, proposed(runtime, site, call), atMs);
  if (!isStop(admission)) return { permit: withProbeId(site, admission) };
  return needsAnotherRound(admission)
    ? { later: admission }
    : { refusal: explainStop(admission, site, atMs), stop: admission };
}

/** The last word on a call that waited or was asked about. */
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

/** Says how a call ended, once: whoever kept the permit forgets it. */
export function settleDetached(
  runtime: Runtime,
  task: TaskState,
  target: Target,
  permit: Permit,
  ending: Ending | { readonly cancelled: true },
): void {
  const site = callSiteFor(runtime, target, task);
  let outcome: Outcome = cancelled;
  if (!('cancelled' in ending)) {
    outcome = classify(ending, site.breaker?.settings ?? noLists, runtime.clock.nowMs(), errorFingerprint);
  }
  const brought = 'cancelled' in ending ? {} : readSettlement(runtime, site, ending, {}, outcome);
  settleCall(runtime, { site, permit, settled: false }, outcome, brought);
}

function proposed(runtime: Runtime, site: CallSite, { id, args, turnId, approvedBy }: ProposedCall) {
  const action = makeAction(runtime, site, args, {}, id, turnId);
  // Work that is sent out again is no repeated call: how it comes back is what counts.
  const plain = site.target.kind === 'delegation' ? { ...action, fingerprint: 0 } : action;
  return approvedBy === undefined ? plain : { ...plain, approvedBy };
}

/** A probe is known to others by its own id: whoever settles it elsewhere has no other. */
function withProbeId({ breaker }: CallSite, permit: Permit): Permit {
  const { action, probe } = permit;
  const probeEntry = probe
    ? breaker?.cell.state.probes.find(({ id }) => String(id).endsWith(`/${action.id}`))
    : undefined;
  return probeEntry === undefined ? permit : { ...permit, action: { ...action, id: probeEntry.id } };
}
