/** Judges an action again after a wait or a question, a bounded number of times, and begins its call. */

import { type Action, givenBack, type Permit } from '../../core/action.ts';
import { roundsMax } from '../../core/limits.ts';
import type { Stop } from '../../core/verdict.ts';
import { digestApproval } from '../approval/approval-digest.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { onHalt } from '../tasks/task.ts';
import { admitAction, isStop, needsAnotherRound, refuseForGood, settleAction } from './admission.ts';
import type { CallSite } from './call-site.ts';

/** An approval of a person, the stop that asked for it, and the digest of what was approved. */
export interface Approval {
  readonly by: string;
  readonly stop: Stop;
  readonly digest: string;
}

/** What the rounds of a call lead to: the call has begun, or is refused. */
export type RoundsResult<T> = { readonly begun: T } | { readonly stop: Stop };

/** A call that is judged in rounds. */
export interface JudgedCall<T> {
  readonly site: CallSite;
  readonly args: readonly unknown[];
  /** Makes the action again for each round. */
  act(): Action;
  /**
   * Begins the call, in the tick of its admission: nothing runs between the last comparison and the call. A call that
   * begins later compares again with `isApproved`.
   */
  begin(permit: Permit, isApproved: () => boolean): T;
}

/**
 * Judges a call until it begins or is refused. An approval is for the arguments that a person saw: if they have changed
 * before the call begins, the call is judged again and a person is asked again.
 */
export async function laterRounds<T>(
  runtime: Runtime,
  call: JudgedCall<T>,
  first: Stop,
  answered?: Approval,
): Promise<RoundsResult<T>> {
  const { site } = call;
  let stop = first;
  let approvals: readonly Approval[] = answered === undefined ? [] : [answered];
  let isDue = answered !== undefined; // Whether the call can be judged now.
  for (let round = 1; round < roundsMax && !runtime.isDisposed; round++) {
    if (isDue) isDue = false;
    else if (stop.kind === 'wait') await sleepUntil(runtime, site, stop.retryAtMs ?? 0);
    else if (stop.kind === 'ask') {
      const answer = await askAbout(runtime, call, stop);
      if ('kind' in answer) return { stop: refuseForGood(runtime, site, call.act(), answer, 'ask') };
      approvals = [...approvals, answer];
    } else return { stop };
    if (runtime.isDisposed) break;
    approvals = approvals.filter((approval) => isCurrent(runtime, call, approval));
    const used = approvals;
    const isApproved = () => used.every((approval) => isCurrent(runtime, call, approval));
    const admission = admitAction(runtime, site, approveAction(call.act(), used), runtime.clock.nowMs());
    if (isStop(admission)) stop = admission;
    else if (isApproved()) return { begun: call.begin(admission, isApproved) };
    else {
      settleAction(runtime, site, admission, givenBack, runtime.clock.nowMs(), {});
      isDue = true;
    }
  }
  return { stop: needsAnotherRound(stop) ? refuseForGood(runtime, site, call.act(), stop) : stop };
}

/** Asks a person about a call; returns the approval, or the stop that refuses the call. */
async function askAbout<T>(runtime: Runtime, call: JudgedCall<T>, stop: Stop): Promise<Approval | Stop> {
  const digest = digestOf(runtime, call, stop);
  if (digest === undefined) return { ...stop, kind: 'deny', code: 'rule_unanswered', reason: tooLargeReason };
  const said = await runtime.ask(runtime, call.site, stop, { args: call.args, digest });
  return typeof said === 'string' ? { by: said, stop, digest } : said;
}

/** Why a call with too many arguments is refused without a question. */
export const tooLargeReason = 'its arguments are too large to be shown and approved';

/** The digest of what an answer to this stop approves. */
export function digestOf<T>({ store }: Runtime, { site, args }: JudgedCall<T>, stop: Stop): string | undefined {
  return digestApproval(store, { tool: site.target.name, task: site.task?.id, args, stop });
}

function isCurrent<T>(runtime: Runtime, call: JudgedCall<T>, { stop, digest }: Approval): boolean {
  return digestOf(runtime, call, stop) === digest;
}

/** The action with the person who approved it, and the rules and controls that the approvals are for. */
function approveAction(action: Action, approvals: readonly Approval[]): Action {
  const last = approvals.at(-1);
  if (last === undefined) return action;
  const rules = approvals.flatMap(({ stop }) => stop.rules ?? []);
  const controls = approvals.map(({ stop }) => stop.control);
  return { ...action, approvedBy: last.by, approvedFor: { rules, controls } };
}

/** Waits until a time of the gear's clock, until the task ends, or until the gear is disposed. */
function sleepUntil({ clock, waiting }: Runtime, { task }: CallSite, untilMs: number): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      waiting.delete(wake);
      stop();
      forget();
      resolve();
    };
    const stop = clock.after(Math.max(0, untilMs - clock.nowMs()), wake, true);
    const forget = onHalt(task, wake);
    waiting.set(wake, wake);
  });
}
