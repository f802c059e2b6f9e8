/** The card of a question: made where there is none, and found again by whoever asks the same. */

import { createHmac } from 'node:crypto';
import type { Card, CardAction } from '../../../core/card.ts';
import type { Stop } from '../../../core/verdict.ts';
import { type CallSite, keepsContent, type Runtime } from '../../../guard/internal.ts';
import { type ActiveRun, writeTransition } from '../storage/active-run.ts';
import { expireCard, formatArgs } from './stored-card.ts';

const actions: readonly CardAction[] = ['approve', 'approve_run', 'approve_always', 'decline'];

/** The card of the question as it is now, made where there is none; undefined where the store does not take it. */
export async function findOrCreateQuestionCard(
  active: ActiveRun,
  runtime: Runtime,
  { target }: CallSite,
  { code, counters, reason }: Stop,
  rules: readonly string[],
): Promise<Card | undefined> {
  const { run, subject, store, clock, by } = active;
  const id = questionCardId(active, rules);
  // Rules or arguments are others now.
  if (run.card !== undefined && run.card !== id) await expireCard(store, run.card);
  const title =
    subject.step === '' ? run.chain.id : `${run.chain.id}: step ${subject.step} wants to call ${target.name}`;
  const fresh: Card = {
    id,
    kind: 'ask',
    task: run.id,
    code,
    counters,
    evidence: [title, ...(reason === undefined ? [] : [reason])],
    actions,
    state: 'open',
    expiresAtMs: clock.nowMs() + runtime.settings.approval.timeoutSecs * 1000,
    step: { run: run.id, chain: run.chain.id, id: subject.step, rules },
  };
  const redacted = keepsContent(runtime) ? fresh : (runtime.rules?.redact(fresh) ?? fresh);
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
  // Whoever is asked here and now sees the values, too; what is kept does not hold them.
  const line = formatArgs(subject.args);
  return { ...current, evidence: line === undefined ? fresh.evidence : [...fresh.evidence, line] };
}

/** Nothing of what is asked about can be read from it, and equal questions have equal ones. */
export function questionCardId({ run, subject, store }: ActiveRun, rules: readonly string[]): string {
  const key = store.shared?.secret ?? run.id;
  const { step, attempt, args } = subject;
  const digest = createHmac('sha256', key)
    .update(JSON.stringify([run.id, step, attempt, args, rules]))
    .digest('hex');
  return `ask-${digest.slice(0, 16)}`;
}
