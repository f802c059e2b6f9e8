/**
 * Asks a person for an approval. Without an approver, an answer in time, or a working channel, the call is not
 * approved.
 */

import type { QuestionCard } from '../../core/card.ts';
import { requireSync } from '../../core/thenable.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Answer, Approver } from '../../ports/approver.ts';
import { showInput } from '../approval/shown-input.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { createCardId, makeQuestionCard, openCard, updateCard, withdrawQuestion, withInput } from '../tasks/cards.ts';
import { onHalt } from '../tasks/task.ts';
import { applyAndCheck } from '../tasks/task-events.ts';
import type { CallSite } from './call-site.ts';

/** The call that a person is asked about, and the digest of what an approval is for. */
export interface AskedCall {
  readonly args: readonly unknown[];
  readonly digest: string;
}

/** Returns the person who approved, or a stop. */
export async function askPerson(
  runtime: Runtime,
  site: CallSite,
  stop: Stop,
  { args, digest }: AskedCall,
): Promise<string | Stop> {
  const { clock, approver } = runtime;
  const no = (code: 'rule_declined' | 'rule_unanswered'): Stop => ({ ...stop, kind: 'deny', code });
  if (approver === undefined || requireSync('isAvailable', approver.isAvailable?.()) === false) {
    const unasked = no('rule_unanswered');
    return { ...unasked, counters: { ...unasked.counters, approver: 'none' } };
  }
  const { task, target, agent, session } = site;
  const askedAtMs = clock.nowMs();
  const question = { task: task?.id ?? session, title: `${agent} wants to call ${target.name}`, digest };
  const card = makeQuestionCard(runtime, createCardId(runtime), stop, question, askedAtMs);
  const { expiresAtMs } = card;
  const input = showInput(args, runtime.settings.approval.redact);
  openCard(runtime, card, task, askedAtMs, input);
  if (task !== undefined) applyAndCheck(runtime, task, { type: 'task-stopped' }, askedAtMs);
  const answer = await firstAnswer(runtime, site, withInput(card, input), approver, expiresAtMs);
  runtime.inputs.delete(card.id);
  const atMs = clock.nowMs();
  if (task !== undefined) applyAndCheck(runtime, task, { type: 'task-resumed' }, atMs);
  // An answer after the timeout does not count: a machine that slept may receive it before its timer fires.
  if (answer === undefined || atMs >= expiresAtMs) {
    withdrawQuestion(runtime, card.id, atMs);
    return no('rule_unanswered');
  }
  const by = typeof answer.by === 'string' ? answer.by : String(approver.name);
  const said = answer.approved ? 'approve' : 'decline';
  updateCard(runtime, card.id, { type: 'card-answered', atMs, answer: said, by });
  if (!answer.approved) return no('rule_declined');
  // An approval is used once, by the call that asked.
  updateCard(runtime, card.id, { type: 'card-used', atMs });
  return by;
}

/** The approver's answer or an answer by code; undefined at the timeout or the end of the task. */
function firstAnswer(
  { clock, waiting }: Runtime,
  site: CallSite,
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
    const forget = onHalt(site.task, finish);
    waiting.set(card.id, finish);
    Promise.resolve()
      .then(() => approver.ask(card, controller.signal))
      .then(
        (answer) => finish(typeof answer?.approved === 'boolean' ? answer : undefined),
        () => finish(),
      );
  });
}
