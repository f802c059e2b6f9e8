/**
 * Asks a person for an approval. Without an approver, an answer in time, or a working channel, the call is not
 * approved.
 */

import { type QuestionCard, withNote } from '../../core/card.ts';
import { requireSync } from '../../core/thenable.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Answer, Approver } from '../../ports/approver.ts';
import { digestApproval } from '../approval/approval-digest.ts';
import { takeEditedArgs } from '../approval/edited-args.ts';
import { showInput } from '../approval/shown-input.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { createCardId, makeQuestionCard, openCard, updateCard, withdrawQuestion, withInput } from '../tasks/cards.ts';
import { onHalt } from '../tasks/task.ts';
import { applyAndCheck } from '../tasks/task-events.ts';
import type { CallSite } from './call-site.ts';
import { badEditReason, notEditableReason, tooLargeReason } from './rounds.ts';

/** The call that a person is asked about, and the digest of what an approval is for. */
export interface AskedCall {
  readonly args: readonly unknown[];
  readonly digest: string;
  /** Whether the person may put other arguments in place of those of the call. */
  readonly canEdit?: boolean;
  /** The first line of the question. By default it names the call. */
  readonly title?: string;
}

/** The part of a call site that a question names. */
export type AskedSite = Pick<CallSite, 'task' | 'target' | 'agent' | 'session'>;

/** An approval of other arguments than those of the call. */
export interface EditedAnswer {
  readonly by: string;
  readonly args: readonly unknown[];
}

/** Returns the person who approved, with the arguments that the person put in place of those of the call, or a stop. */
export async function askPerson(
  runtime: Runtime,
  site: AskedSite,
  stop: Stop,
  { args, digest, canEdit = false, title }: AskedCall,
): Promise<string | EditedAnswer | Stop> {
  const { clock, approver } = runtime;
  const no = (code: 'rule_declined' | 'rule_unanswered', reason = stop.reason): Stop => {
    return { ...stop, kind: 'deny', code, ...(reason !== undefined && { reason }) };
  };
  if (approver === undefined || requireSync('isAvailable', approver.isAvailable?.()) === false) {
    const unasked = no('rule_unanswered');
    return { ...unasked, counters: { ...unasked.counters, approver: 'none' } };
  }
  const { task, target, agent, session } = site;
  const askedAtMs = clock.nowMs();
  const question = {
    ...{ task: task?.id ?? session, title: title ?? `${agent} wants to call ${target.name}`, digest },
    // A question with a title of its own is about its task.
    ...(title === undefined && { alike: digestAlike(runtime, site, stop, args) }),
  };
  const card = makeQuestionCard(runtime, createCardId(runtime), stop, { ...question, canEdit }, askedAtMs);
  const { expiresAtMs } = card;
  const input = showInput(args, runtime.settings.approval.redact);
  const opened = openCard(runtime, card, task, askedAtMs, input);
  if (task !== undefined) applyAndCheck(runtime, task, { type: 'task-stopped' }, askedAtMs);
  const answer = await firstAnswer(runtime, site, withInput(opened, input), approver, expiresAtMs);
  runtime.inputs.delete(card.id);
  const atMs = clock.nowMs();
  if (task !== undefined) applyAndCheck(runtime, task, { type: 'task-resumed' }, atMs);
  // An answer after the timeout does not count: a machine that slept may receive it before its timer fires.
  if (answer === undefined || atMs >= expiresAtMs) {
    withdrawQuestion(runtime, card.id, atMs);
    return no('rule_unanswered');
  }
  const by = typeof answer.by === 'string' ? answer.by : String(approver.name);
  const edit = answer.approved ? await readEdit(runtime, card.id, answer) : undefined;
  const checked = edit === undefined ? undefined : checkEdit(runtime, site, stop, edit, canEdit);
  if (checked !== undefined && 'reason' in checked) {
    withdrawQuestion(runtime, card.id, atMs);
    return no('rule_unanswered', checked.reason);
  }
  const said = !answer.approved ? 'decline' : edit === undefined ? 'approve' : 'approve_edited';
  updateCard(runtime, card.id, { type: 'card-answered', atMs, answer: said, by });
  if (!answer.approved) return no('rule_declined', withNote(stop.reason, by, answer.note));
  // An approval is used once, by the call that asked.
  updateCard(runtime, card.id, { type: 'card-used', atMs, digest: checked?.digest });
  return edit === undefined ? by : { by, args: edit as readonly unknown[] };
}

/** The arguments of an approval, in the answer or sealed in the store; null if they cannot be read. */
async function readEdit(runtime: Runtime, card: string, answer: Answer): Promise<unknown> {
  if (!answer.isEdited) return answer.args;
  return (await takeEditedArgs(runtime.store, runtime.inputs, card)) ?? null;
}

/** The digest that calls of several tasks share: the same agent of this gear, tool, rules and input. */
function digestAlike({ store, idStem }: Runtime, { target, agent }: AskedSite, stop: Stop, args: readonly unknown[]) {
  return digestApproval(store, { tool: target.name, task: undefined, args, stop, place: ['alike', idStem, agent] });
}

/** The digest of edited arguments, or why they cannot be approved. */
function checkEdit(
  { store }: Runtime,
  { target, task }: AskedSite,
  stop: Stop,
  args: unknown,
  canEdit: boolean,
): { readonly digest: string } | { readonly reason: string } {
  if (!canEdit) return { reason: notEditableReason };
  if (!Array.isArray(args)) return { reason: badEditReason };
  const digest = digestApproval(store, { tool: target.name, task: task?.id, args, stop });
  return digest === undefined ? { reason: tooLargeReason } : { digest };
}

/** The approver's answer or an answer by code; undefined at the timeout or the end of the task. */
function firstAnswer(
  { clock, waiting }: Runtime,
  site: AskedSite,
  card: QuestionCard,
  approver: Approver,
  expiresAtMs: number,
): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const controller = new AbortController();
    const finish = (answer?: Answer) => {
      waiting.delete(card.id);
      stop();
      forget();
      controller.abort();
      resolve(answer);
    };
    const stop = clock.after(expiresAtMs - clock.nowMs(), finish, true);
    const forget = onHalt(site.task, () => finish());
    waiting.set(card.id, finish);
    Promise.resolve()
      .then(() => approver.ask(card, controller.signal))
      .then(
        (answer) => finish(typeof answer?.approved === 'boolean' ? answer : undefined),
        () => finish(),
      );
  });
}
