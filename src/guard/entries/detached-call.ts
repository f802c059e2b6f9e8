/** A call that begins in one process and ends in another: its permit is a plain value, kept by whoever asks. */

import { cancelled, type Outcome, type Permit } from '../../core/action.ts';
import { classify, type Ending } from '../../core/classify.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Stop } from '../../core/verdict.ts';
import { comesBack, conclude, isStop, refusalOf } from '../route/admission.ts';
import { type Lane, laneOf, type Target } from '../route/call-site.ts';
import { finish } from '../route/live-call.ts';
import { noLists, settlingOf } from '../route/outcome.ts';
import { actionOf } from '../route/proposal.ts';
import { errorFingerprint } from '../runtime/fingerprint.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { TaskNode } from '../tasks/task.ts';

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
export type Answered =
  | { readonly permit: Permit }
  | { readonly refusal: Refusal; readonly stop: Stop }
  | { readonly later: Stop };

export function propose(runtime: Runtime, task: TaskNode, call: ProposedCall): Answered {
  const atMs = runtime.clock.nowMs();
  const lane = laneOf(runtime, call.target, task);
  const admission = runtime.admit(runtime, lane, proposed(runtime, lane, call), atMs);
  if (!isStop(admission)) return { permit: known(lane, admission) };
  return comesBack(admission) ? { later: admission } : { refusal: refusalOf(admission, lane, atMs), stop: admission };
}

/** The last word on a call that waited or was asked about. */
export function refuse(
  runtime: Runtime,
  task: TaskNode,
  call: ProposedCall,
  later: Stop,
  code?: 'rule_declined' | 'rule_unanswered',
): Refusal {
  const lane = laneOf(runtime, call.target, task);
  const said: Stop = code === undefined ? later : { ...later, kind: 'deny', code };
  const stop = conclude(runtime, lane, proposed(runtime, lane, call), said, later.kind === 'wait' ? 'wait' : 'ask');
  return refusalOf(stop, lane, runtime.clock.nowMs());
}

/** Says how a call ended, once: whoever kept the permit forgets it. */
export function settle(
  runtime: Runtime,
  task: TaskNode,
  target: Target,
  permit: Permit,
  ending: Ending | { readonly cancelled: true },
): void {
  const lane = laneOf(runtime, target, task);
  let outcome: Outcome = cancelled;
  if (!('cancelled' in ending)) {
    outcome = classify(ending, lane.breaker?.settings ?? noLists, runtime.clock.nowMs(), errorFingerprint);
  }
  const brought = 'cancelled' in ending ? {} : settlingOf(runtime, lane, ending, {}, outcome);
  finish(runtime, { lane, permit, settled: false }, outcome, brought);
}

function proposed(runtime: Runtime, lane: Lane, { id, args, turnId, approvedBy }: ProposedCall) {
  const action = actionOf(runtime, lane, args, {}, id, turnId);
  // Work that is sent out again is no repeated call: how it comes back is what counts.
  const plain = lane.target.kind === 'delegation' ? { ...action, fingerprint: 0 } : action;
  return approvedBy === undefined ? plain : { ...plain, approvedBy };
}

/** A probe is known to others by its own id: whoever settles it elsewhere has no other. */
function known({ breaker }: Lane, permit: Permit): Permit {
  const { action, probe } = permit;
  const held = probe ? breaker?.cell.state.probes.find(({ id }) => String(id).endsWith(`/${action.id}`)) : undefined;
  return held === undefined ? permit : { ...permit, action: { ...action, id: held.id } };
}
