/** The card of a run's question: created once, and found again by each attempt with the same question. */

import type { Card, CardAction } from '../../../core/card.ts';
import type { Stop } from '../../../core/verdict.ts';
import { type CallSite, hashQuestion, makeQuestionCard, type Runtime, redactCard } from '../../../guard/internal.ts';
import { type ActiveRun, writeTransition } from '../storage/active-run.ts';
import { expireCard, formatArgs } from './stored-card.ts';

const actions: readonly CardAction[] = ['approve', 'approve_run', 'approve_always', 'decline'];

/** Finds or creates the card of the current question; undefined if the store rejects the card. */
export async function findOrCreateQuestionCard(
  active: ActiveRun,
  runtime: Runtime,
  { target }: CallSite,
  stop: Stop,
  rules: readonly string[],
): Promise<Card | undefined> {
  const { run, store, clock, by } = active;
  const { subject } = active.question;
  const id = questionCardId(active, rules);
  // The rules or the arguments have changed, so the earlier question expires.
  if (run.card !== undefined && run.card !== id) await expireCard(store, run.card);
  const title =
    subject.step === '' ? run.chain.id : `${run.chain.id}: step ${subject.step} wants to call ${target.name}`;
  const fresh: Card = {
    ...makeQuestionCard(runtime, id, stop, { task: run.id, title }, clock.nowMs()),
    actions,
    step: { run: run.id, chain: run.chain.id, id: subject.step, rules },
  };
  const redacted = redactCard(runtime, fresh);
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
  if (result.status !== 'committed' || current === undefined) return undefined;
  // The approver of this process also sees the values; the stored card does not contain them.
  const line = formatArgs(subject.args);
  return { ...current, evidence: line === undefined ? fresh.evidence : [...fresh.evidence, line] };
}

/** The id of the card: equal questions of a run have equal ids. */
export function questionCardId({ run, question, store }: ActiveRun, rules: readonly string[]): string {
  const key = store.shared?.secret ?? run.id;
  const { step, attempt, args } = question.subject;
  return `ask-${hashQuestion(key, [run.id, step, attempt, args, rules])}`;
}
