/**
 * Asks a person in a way that outlives the process: one card per run, step, attempt and arguments. A process that
 * resumes the run finds the same card, open, answered or expired.
 */

import { type Card, type CardAction, type QuestionCard, withNote } from '../../../core/card.ts';
import { answerPollMs, storeRetryMinMs } from '../../../core/limits.ts';
import type { Stop } from '../../../core/verdict.ts';
import {
  type AskedSite,
  applyAndCheck,
  type askPerson,
  keepsContent,
  onHalt,
  type Runtime,
} from '../../../guard/internal.ts';
import { wait } from '../../../platform/system-clock.ts';
import type { Answer } from '../../../ports/approver.ts';
import { sameRules } from '../state/transitions.ts';
import { type ActiveRun, writeTransition } from '../storage/active-run.ts';
import { digestQuestion, findOrCreateQuestionCard, questionCardId } from './question-card.ts';
import { digestIdentity, digestSteps, type QuestionPlace, readPlace } from './question-place.ts';
import { addStandingApproval, findStandingApproval } from './standing-approvals.ts';
import { answerStoredCard, expireCard } from './stored-card.ts';

/** Creates the function that asks for a run: returns the name of the approver, or the refusal. */
export function createRunApproval(active: ActiveRun): typeof askPerson {
  return async (runtime, site, stop) => {
    const deny = (code: 'rule_declined' | 'rule_unanswered', more = ''): Stop => {
      return { ...stop, kind: 'deny', code, reason: [stop.reason, more].filter(Boolean).join('; ') };
    };
    const rules = [...(stop.rules ?? [])].sort();
    const place = await readPlace(active);
    const digest = digestQuestion(active, site, stop, place);
    if (digest === undefined) return deny('rule_unanswered', 'its arguments are too large to be approved');
    const isCurrent = async () => digestQuestion(active, site, stop, await readPlace(active)) === digest;
    const subject = { identity: JSON.stringify(place.ability), isCurrent };
    const approval = await findApproval(active, rules, place);
    if (approval !== undefined) {
      active.emit({ type: 'approval-found', run: active.run.id, step: active.question.subject.step, ...approval });
      active.question.approve({ by: approval.by, ...subject });
      return approval.by;
    }
    const isAnswered = active.store.card(questionCardId(digest))?.state === 'answered';
    if (!isAnswered && !canAsk(active)) return deny('rule_unanswered', 'no approver is available');
    const card = await findOrCreateQuestionCard(active, runtime, site, stop, digest);
    if (card === undefined) return deny('rule_unanswered', 'the question could not be stored');
    if (card.state === 'open') active.emit(makeAskedEvent(active, card));
    if (card.state === 'open' && !active.wait) {
      active.question.park();
      return deny('rule_unanswered', 'the question is not answered yet');
    }
    const answeredCard =
      card.state === 'open' ? await pauseTaskWhile(runtime, site, () => waitForAnswer(active, site, card)) : card;
    if (answeredCard === 'edited') {
      await expireCard(active.store, card.id);
      return deny('rule_unanswered', editedReason);
    }
    if (answeredCard === undefined || answeredCard.state === 'expired' || answeredCard.answer === undefined) {
      // The question of a run that another process has taken over is now that process's question.
      if (!active.lost) await expireCard(active.store, card.id);
      return deny('rule_unanswered', active.signal.aborted ? '' : explainNoAnswer(active, runtime, card));
    }
    active.emit({
      type: 'question-answered',
      run: active.run.id,
      step: active.question.subject.step,
      card: answeredCard,
    });
    const answeredBy = answeredCard.by ?? 'somebody';
    if (answeredCard.answer === 'decline')
      return deny('rule_declined', withNote(`declined by ${answeredBy}`, answeredBy, answeredCard.note));
    await saveApproval(active, runtime, answeredCard, rules, place, answeredBy);
    active.question.approve({ by: answeredBy, card: answeredCard.id, ...subject });
    return answeredBy;
  };
}

/** The arguments of a step are those of its chain file, to which run approvals and standing approvals are bound. */
const editedReason =
  'it was approved with other arguments, but a step runs with those of its chain: approve it as it is, or decline it';

/** Finds an earlier approval of these rules, for the whole run or standing, in the same place. */
async function findApproval(active: ActiveRun, rules: readonly string[], place: QuestionPlace) {
  const { run, store } = active;
  const runApproval = run.approved.find((each) => sameRules(each.rules, rules));
  // The server or program behind the step may have changed since the approval.
  const isSameProgram =
    runApproval !== undefined &&
    (place.step === '' || runApproval.programs?.[place.step] === digestIdentity(store, place.ability));
  if (isSameProgram) return { by: runApproval.by, for: 'run' } as const;
  const standingApproval = await findStandingApproval(store, run.chain, rules, place);
  return standingApproval && ({ by: standingApproval.by, for: 'always' } as const);
}

function explainNoAnswer({ clock }: ActiveRun, { settings }: Runtime, { expiresAtMs = 0 }: Card): string {
  if (clock.nowMs() < expiresAtMs) return 'the approver could not be reached';
  return `no answer within ${settings.approval.timeoutSecs} s`;
}

/** Whether a person can be asked. If this process does not wait for the answer, a shared store is enough. */
function canAsk({ approver, wait, store }: ActiveRun): boolean {
  if (!wait && store.shared !== undefined) return true;
  return approver !== undefined && approver.isAvailable?.() !== false;
}

function makeAskedEvent(active: ActiveRun, card: Card) {
  const { run, question, clock } = active;
  const waitMs = Math.max(0, (card.expiresAtMs ?? 0) - clock.nowMs());
  return { type: 'question-asked', run: run.id, step: question.subject.step, card, waitMs } as const;
}

/** Pauses the time limits of the task while a person is asked. */
async function pauseTaskWhile<T>(runtime: Runtime, { task }: AskedSite, wait: () => Promise<T>): Promise<T> {
  if (task !== undefined) applyAndCheck(runtime, task, { type: 'task-stopped' }, runtime.clock.nowMs());
  const result = await wait();
  if (task !== undefined) applyAndCheck(runtime, task, { type: 'task-resumed' }, runtime.clock.nowMs());
  return result;
}

/** Waits for the answered card; undefined if the card expires, the run ends, or the approver fails. */
function waitForAnswer(
  active: ActiveRun,
  { task }: AskedSite,
  card: QuestionCard,
): Promise<Card | 'edited' | undefined> {
  const { store, clock, approver, signal } = active;
  return new Promise((resolve) => {
    const controller = new AbortController();
    let poll = () => {};
    let isOver = false;
    const end = (answeredCard?: Card | 'edited') => {
      isOver = true;
      for (const undo of [poll, expiry, offHalt, unwatch]) undo?.();
      signal.removeEventListener('abort', giveUp);
      controller.abort();
      resolve(answeredCard);
    };
    const giveUp = () => end();
    const checkCard = () => {
      try {
        store.shared?.refresh();
        const now = store.card(card.id);
        if (now !== undefined && now.state !== 'open') end(now);
      } catch {
        end(); // The store was closed, so no answer can arrive.
      }
    };
    const pollAgain = () => {
      checkCard();
      if (!isOver) poll = clock.after(answerPollMs, pollAgain, true);
    };
    const expiry = clock.after(Math.max(0, (card.expiresAtMs ?? 0) - clock.nowMs()), giveUp, true);
    const offHalt = onHalt(task, giveUp);
    const unwatch = store.shared?.watch((hint) => {
      if (hint.type === 'cell-changed' && hint.key === `card/${card.id}`) checkCard();
    });
    signal.addEventListener('abort', giveUp, { once: true });
    pollAgain();
    if (signal.aborted) giveUp();
    if (isOver) return;
    const recordAnswer = async (answer: Answer) => {
      if (typeof answer?.approved !== 'boolean') return giveUp();
      if (answer.approved && (answer.args !== undefined || answer.isEdited)) return end('edited');
      const by = typeof answer.by === 'string' ? answer.by : String(approver!.name);
      // An answer counts once the store has it; the first stored answer stands.
      while (!isOver) {
        const action = toCardAction(answer);
        const words = { note: answer.note };
        const answered = await answerStoredCard(store, card.id, action, by, undefined, [], words);
        const { status, card: answeredCard } = answered;
        if (status !== 'unavailable') return end(answeredCard);
        await wait(clock, storeRetryMinMs, controller.signal);
      }
    };
    Promise.resolve()
      .then(() => approver!.ask(card, controller.signal))
      .then(recordAnswer)
      .catch(giveUp);
  });
}

function toCardAction({ approved, for: duration }: Answer): CardAction {
  if (!approved) return 'decline';
  return duration === 'run' ? 'approve_run' : duration === 'always' ? 'approve_always' : 'approve';
}

/** Stores an approval for the whole run or a standing approval. */
async function saveApproval(
  active: ActiveRun,
  runtime: Runtime,
  { answer }: Card,
  rules: readonly string[],
  place: QuestionPlace,
  answeredBy: string,
): Promise<void> {
  const { by, store, run } = active;
  const { chain } = run;
  const approved =
    answer === 'approve_run' ? { approved: { rules, by: answeredBy, programs: await digestSteps(active) } } : {};
  await writeTransition(active, { type: 'answered', by, ...approved });
  if (answer !== 'approve_always') return;
  const entry = { type: 'standing-given', chain: chain.id, rules, by: answeredBy } as const;
  const redacted = keepsContent(runtime) ? entry : (runtime.rules?.redact(entry) ?? entry);
  await addStandingApproval(store, chain, rules, redacted.rules, place, answeredBy);
}
