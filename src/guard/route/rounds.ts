/** Judges an action again after a wait or a question, a bounded number of times, and begins its call. */

import { type Action, givenBack, type Permit } from '../../core/action.ts';
import { roundsMax } from '../../core/limits.ts';
import type { Stop } from '../../core/verdict.ts';
import { digestApproval } from '../approval/approval-digest.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type AskHost, askToRaiseLimit } from '../tasks/limit-question.ts';
import { admitAction, isStop, isTakenBack, needsAnotherRound, refuseForGood, settleAction } from './admission.ts';
import type { EditedAnswer } from './approval.ts';
import type { CallSite } from './call-site.ts';
import { QueueWait, sleepUntil, waitsInQueue } from './waiting.ts';

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
  /** The arguments of the call; others after `edit`. */
  readonly args: readonly unknown[];
  /** Ends the waits of the call, which then throw its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces the arguments by those of the person who approved the call; absent where the host cannot do that. */
  readonly edit?: ((args: readonly unknown[]) => void) | undefined;
  /** Asks a person through the host. By default the approver of the gear is asked. */
  readonly ask?: ((stop: Stop) => Promise<Approval | Stop> | undefined) | undefined;
  /** Asks a person through the host whether a limit may be raised. By default the approver of the gear is asked. */
  readonly askLimit?: AskHost | undefined;
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
export async function laterRounds<T>(runtime: Runtime, call: JudgedCall<T>, first: Stop): Promise<RoundsResult<T>> {
  const queue = new QueueWait(runtime, call.site);
  try {
    return await judgeInRounds(runtime, call, queue, first);
  } finally {
    queue.leave();
  }
}

async function judgeInRounds<T>(
  runtime: Runtime,
  call: JudgedCall<T>,
  queue: QueueWait,
  first: Stop,
): Promise<RoundsResult<T>> {
  const { site, signal } = call;
  let stop = first;
  let approvals: readonly Approval[] = [];
  let isDue = false; // Whether the call can be judged now.
  for (let round = 1; round < roundsMax && !runtime.isDisposed; round++) {
    if (!waitsInQueue(stop)) queue.leave(); // A call that waits for something else does not block the queue.
    if (isDue) isDue = false;
    else if (waitsInQueue(stop)) {
      const missed = await queue.wait(stop, signal);
      if (missed !== undefined) return { stop: refuseForGood(runtime, site, call.act(), missed, 'wait') };
    } else if (stop.kind === 'wait') await sleepUntil(runtime, site, stop.retryAtMs ?? 0, signal);
    else if (stop.raise !== undefined) {
      const isRaised = site.task && (await askToRaiseLimit(runtime, site.task, stop, call.askLimit));
      if (!isRaised) return { stop: refuseForGood(runtime, site, call.act(), stop, 'ask') };
    } else if (stop.kind === 'ask') {
      const answer = await (call.ask?.(stop) ?? askAbout(runtime, call, stop));
      if ('kind' in answer) return { stop: refuseForGood(runtime, site, call.act(), answer, 'ask') };
      approvals = [...approvals, answer];
    } else return { stop };
    if (runtime.isDisposed) break;
    approvals = approvals.filter((approval) => isCurrent(runtime, call, approval));
    const used = approvals;
    const isApproved = () => used.every((approval) => isCurrent(runtime, call, approval));
    const admission = queue.judge(() =>
      admitAction(runtime, site, approveAction(call.act(), used), runtime.clock.nowMs()),
    );
    if (isStop(admission)) {
      stop = admission;
      if (isTakenBack(stop)) return { stop };
    } else if (isApproved()) return { begun: call.begin(admission, isApproved) };
    else {
      settleAction(runtime, site, admission, givenBack, runtime.clock.nowMs(), {});
      isDue = true;
    }
  }
  return { stop: needsAnotherRound(stop) ? refuseForGood(runtime, site, call.act(), stop) : stop };
}

/**
 * Asks a person about a call; returns the approval, or the stop that refuses the call. If the person edited the
 * arguments, the approval is for the edited ones.
 */
async function askAbout<T>(runtime: Runtime, call: JudgedCall<T>, stop: Stop): Promise<Approval | Stop> {
  const { site, args } = call;
  const digest = digestOf(runtime, call, stop);
  if (digest === undefined) return { ...stop, kind: 'deny', code: 'rule_unanswered', reason: tooLargeReason };
  const said = await runtime.ask(runtime, site, stop, { args, digest, canEdit: call.edit !== undefined });
  if (typeof said === 'string') return { by: said, stop, digest };
  return 'args' in said ? approveEdited(runtime, call, stop, said) : said;
}

/** Replaces the arguments of a call by those that a person approved instead. */
export function approveEdited<T>(
  runtime: Runtime,
  call: JudgedCall<T>,
  stop: Stop,
  { by, args }: EditedAnswer,
): Approval | Stop {
  const refused: Stop = { ...stop, kind: 'deny', code: 'rule_unanswered' };
  if (call.edit === undefined) return { ...refused, reason: notEditableReason };
  if (!Array.isArray(args)) return { ...refused, reason: badEditReason };
  call.edit(args);
  const digest = digestOf(runtime, call, stop);
  return digest === undefined ? { ...refused, reason: tooLargeReason } : { by, stop, digest };
}

/** Why an approval with other arguments is refused. */
export const notEditableReason = 'it was approved with other arguments, which cannot be put in place of its own here';
export const badEditReason = 'it was approved with arguments that are not a list';

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
