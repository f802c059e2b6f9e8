/**
 * A question to a person that outlives its process: one card for a run, a step, its attempt and its arguments. Whoever
 * takes the run on finds it again, with the answer that came meanwhile or with its time over.
 */

import type { Card, CardAction } from '../../../core/card.ts';
import { answerPollMs, storeRetryMinMs } from '../../../core/limits.ts';
import type { Stop } from '../../../core/verdict.ts';
import { keepsContent } from '../../../guard/journal/journal.ts';
import type { askPerson } from '../../../guard/route/approval.ts';
import type { CallSite } from '../../../guard/route/call-site.ts';
import type { Runtime } from '../../../guard/runtime/runtime.ts';
import { onHalt } from '../../../guard/tasks/task.ts';
import { applyAndCheck } from '../../../guard/tasks/task-events.ts';
import { wait } from '../../../platform/system-clock.ts';
import type { Answer } from '../../../ports/approver.ts';
import { sameRules } from '../state/transitions.ts';
import { type ActiveRun, writeTransition } from '../storage/run-context.ts';
import { answerQuestion, expire } from './answer-card.ts';
import { cardId, openQuestion } from './question-card.ts';
import { findStanding, giveStanding } from './standing-approvals.ts';

/** How a run asks: who approved it comes back, or the word against it. */
export function askInStore(active: ActiveRun): typeof askPerson {
  return async (runtime, site, stop) => {
    const no = (code: 'rule_declined' | 'rule_unanswered', more = ''): Stop => {
      return { ...stop, kind: 'deny', code, reason: [stop.reason, more].filter(Boolean).join('; ') };
    };
    const rules = [...(stop.rules ?? [])].sort();
    const found = await approvalOf(active, rules);
    if (found !== undefined) {
      active.emit({ type: 'approval-found', run: active.run.id, step: active.subject.step, ...found });
      return approvedBy(active, found.by);
    }
    const isAnswered = active.store.card(cardId(active, rules))?.state === 'answered';
    if (!isAnswered && !isThere(active)) return no('rule_unanswered', 'there is nobody to ask');
    const card = await openQuestion(active, runtime, site, stop, rules);
    if (card === undefined) return no('rule_unanswered', 'the question could not be kept');
    if (card.state === 'open') active.emit(asked(active, card));
    if (card.state === 'open' && !active.wait) {
      active.parked = true;
      return no('rule_unanswered', 'nobody has answered yet');
    }
    const turned = card.state === 'open' ? await standStill(runtime, site, () => answerTo(active, site, card)) : card;
    if (turned === undefined || turned.state === 'expired' || turned.answer === undefined) {
      await expire(active.store, card.id);
      return no('rule_unanswered', active.signal.aborted ? '' : whySilent(active, runtime, card));
    }
    active.emit({ type: 'question-answered', run: active.run.id, step: active.subject.step, card: turned });
    const who = turned.by ?? 'somebody';
    if (turned.answer === 'decline') return no('rule_declined', `declined by ${who}`);
    await remember(active, runtime, turned, rules, who);
    active.answeredCard = turned.id;
    return approvedBy(active, who);
  };
}

function approvedBy(active: ActiveRun, who: string): string {
  active.approvedBy = who;
  return who;
}

/** The yes that somebody gave before, for all of the run or for good. */
async function approvalOf({ run, store }: ActiveRun, rules: readonly string[]) {
  const given = run.approved.find((each) => sameRules(each.rules, rules));
  if (given !== undefined) return { by: given.by, for: 'run' } as const;
  const standing = await findStanding(store, run.chain, rules);
  return standing && ({ by: standing.by, for: 'always' } as const);
}

function whySilent({ clock }: ActiveRun, { settings }: Runtime, { expiresAtMs = 0 }: Card): string {
  if (clock.nowMs() < expiresAtMs) return 'nobody could be reached';
  return `no answer within ${settings.approval.timeoutSecs} s`;
}

/** Whether anybody can be asked; a question that nobody here waits for only needs a store that others see. */
function isThere({ approver, wait, store }: ActiveRun): boolean {
  if (!wait && store.shared !== undefined) return true;
  return approver !== undefined && approver.isThere?.() !== false;
}

function asked(active: ActiveRun, card: Card) {
  const { run, subject, clock } = active;
  const waitMs = Math.max(0, (card.expiresAtMs ?? 0) - clock.nowMs());
  return { type: 'question-asked', run: run.id, step: subject.step, card, waitMs } as const;
}

/** The clocks of the task stand still while a person is asked. */
async function standStill<T>(runtime: Runtime, { task }: CallSite, wait: () => Promise<T>): Promise<T> {
  if (task !== undefined) applyAndCheck(runtime, task, { type: 'task-stopped' }, runtime.clock.nowMs());
  const result = await wait();
  if (task !== undefined) applyAndCheck(runtime, task, { type: 'task-resumed' }, runtime.clock.nowMs());
  return result;
}

/** The card once it is answered, or undefined when its time is up, the run ends, or nobody can be reached. */
function answerTo(active: ActiveRun, { task }: CallSite, card: Card): Promise<Card | undefined> {
  const { store, clock, approver, signal } = active;
  return new Promise((resolve) => {
    const controller = new AbortController();
    let poll = () => {};
    let isOver = false;
    const end = (turned?: Card) => {
      isOver = true;
      for (const undo of [poll, expiry, forget, unwatch]) undo?.();
      signal.removeEventListener('abort', leave);
      controller.abort();
      resolve(turned);
    };
    const leave = () => end();
    const look = () => {
      try {
        store.shared?.refresh();
        const now = store.card(card.id);
        if (now !== undefined && now.state !== 'open') end(now);
      } catch {
        end(); // The store was closed under us: nobody can answer.
      }
    };
    const again = () => {
      look();
      if (!isOver) poll = clock.after(answerPollMs, again, true);
    };
    const expiry = clock.after(Math.max(0, (card.expiresAtMs ?? 0) - clock.nowMs()), leave, true);
    const forget = onHalt(task, leave);
    const unwatch = store.shared?.watch((hint) => {
      if (hint.type === 'cell-changed' && hint.key === `card/${card.id}`) look();
    });
    signal.addEventListener('abort', leave, { once: true });
    again();
    if (signal.aborted) leave();
    if (isOver) return;
    const heard = async (answer: Answer) => {
      if (typeof answer?.approved !== 'boolean') return leave();
      const by = typeof answer.by === 'string' ? answer.by : String(approver!.name);
      // An answer that the store has not heard of is none yet; the first that it hears stands, whoever gave it.
      while (!isOver) {
        const { status, card: turned } = await answerQuestion(store, card.id, actionOf(answer), by);
        if (status !== 'unavailable') return end(turned);
        await wait(clock, storeRetryMinMs, controller.signal);
      }
    };
    Promise.resolve()
      .then(() => approver!.ask(card, controller.signal))
      .then(heard)
      .catch(leave);
  });
}

function actionOf({ approved, for: lasts }: Answer): CardAction {
  if (!approved) return 'decline';
  return lasts === 'run' ? 'approve_run' : lasts === 'always' ? 'approve_always' : 'approve';
}

/** Keeps what was said for more than this one step. */
async function remember(
  active: ActiveRun,
  runtime: Runtime,
  { answer }: Card,
  rules: readonly string[],
  who: string,
): Promise<void> {
  const { by, store, run } = active;
  const { chain } = run;
  const approved = answer === 'approve_run' ? { approved: { rules, by: who } } : {};
  await writeTransition(active, { type: 'answered', by, ...approved });
  if (answer !== 'approve_always') return;
  const given = { type: 'standing-given', chain: chain.id, rules, by: who } as const;
  const shown = keepsContent(runtime) ? given : (runtime.rules?.hide(given) ?? given);
  await giveStanding(store, chain, rules, shown.rules, who);
}
