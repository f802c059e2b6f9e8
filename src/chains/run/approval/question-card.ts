/** The card of a run's question: created once, and found again by each attempt with the same question. */

import type { Card, CardAction, QuestionCard } from '../../../core/card.ts';
import type { Stop } from '../../../core/verdict.ts';
import {
  type AskedSite,
  describeCardTask,
  digestApproval,
  makeQuestionCard,
  type Runtime,
  redactCard,
  shortDigest,
  showInput,
  storeInput,
  withInput,
} from '../../../guard/internal.ts';
import { type ActiveRun, writeTransition } from '../storage/active-run.ts';
import type { QuestionPlace } from './question-place.ts';
import { expireCard } from './stored-card.ts';

const actions: readonly CardAction[] = ['approve', 'approve_run', 'approve_always', 'decline'];

/** Finds or creates the card of the current question; undefined if the store rejects the card. */
export async function findOrCreateQuestionCard(
  active: ActiveRun,
  runtime: Runtime,
  { target }: AskedSite,
  stop: Stop,
  digest: string,
): Promise<QuestionCard | undefined> {
  const { run, store, clock, by } = active;
  const { subject } = active.question;
  const id = questionCardId(digest);
  const rules = [...(stop.rules ?? [])].sort();
  const input = showInput([subject.args], runtime.settings.approval.redact);
  // The rules or the arguments have changed, so the earlier question expires.
  if (run.card !== undefined && run.card !== id) await expireCard(store, run.card);
  const title =
    subject.step === '' ? run.chain.id : `${run.chain.id}: step ${subject.step} wants to call ${target.name}`;
  const fresh: Card = {
    ...describeCardTask(runtime, undefined, clock.nowMs()),
    ...makeQuestionCard(runtime, id, stop, { task: run.id, title, digest }, clock.nowMs()),
    actions,
    step: { run: run.id, chain: run.chain.id, id: subject.step, rules },
  };
  const redacted = redactCard(runtime, fresh);
  const askedAtMs = clock.nowMs();
  if (store.card(id) === undefined) storeInput(store, id, input, (fresh.expiresAtMs ?? askedAtMs) - askedAtMs);
  let current: Card | undefined;
  const keepStored = (stored: Card | undefined) => {
    current = stored ?? redacted;
    return current;
  };
  const entries = [{ type: 'card-changed', card: redacted }] as const;
  const result = await writeTransition(
    active,
    { type: 'asked', by, card: id },
    { card: { id, update: keepStored }, entries },
  );
  if (result.status !== 'committed' || current?.digest !== digest) return undefined;
  // The approver of this process also sees the values; the stored card does not contain them.
  return withInput({ ...current, evidence: fresh.evidence }, input);
}

/** The id of the card: equal questions of a run have equal ids. */
export function questionCardId(digest: string): string {
  return `ask-${shortDigest(digest)}`;
}

/** The digest of what an answer approves: the step with its arguments, where it runs, and the rules that ask. */
export function digestQuestion(
  { run, question, store }: ActiveRun,
  { target }: AskedSite,
  stop: Stop,
  place: QuestionPlace,
): string | undefined {
  const { attempt, args } = question.subject;
  return digestApproval(store, { tool: target.name, task: run.id, args: [args], stop, place: { ...place, attempt } });
}
