/** The cards of a gear: opened by halts and questions, changed by answers and by time. */

import { type Card, type CardEvent, changeCard } from '../../core/card.ts';
import type { Stop } from '../../core/verdict.ts';
import { appendEntry, keepsContent } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { entryPlace, type TaskState } from './task.ts';

/** Makes the card of a question: the call, why it must be approved, and until when. */
export function makeQuestionCard(
  { settings }: Runtime,
  id: string,
  { code, counters, reason }: Stop,
  question: { readonly task: string; readonly title: string },
  atMs: number,
): Card & { readonly expiresAtMs: number } {
  return {
    id,
    kind: 'ask',
    task: question.task,
    code,
    counters,
    evidence: [question.title, ...(reason === undefined ? [] : [reason])],
    actions: ['approve', 'decline'],
    state: 'open',
    expiresAtMs: atMs + settings.approval.timeoutSecs * 1000,
  };
}

/**
 * Derives the id of a question that outlives its process: equal for equal questions, and without a readable part of
 * them. `key` is the secret of the store.
 */
export function hashQuestion(key: string, question: readonly unknown[]): string {
  // Loaded for a question only: loading it takes longer than a hook that asks nobody.
  const { createHmac } = process.getBuiltinModule('node:crypto');
  return createHmac('sha256', key).update(JSON.stringify(question)).digest('hex').slice(0, 16);
}

/** Creates an id for a card of this gear. */
export function createCardId(runtime: Runtime): string {
  return `card-${runtime.idStem}-${++runtime.ids}`;
}

/** The card as the store keeps it: without the texts of rules, unless the policy keeps content. */
export function redactCard(runtime: Runtime, card: Card): Card {
  return keepsContent(runtime) ? card : (runtime.rules?.redact(card) ?? card);
}

/** Opens a card: the store keeps it redacted, and the journal has its entry. */
export function openCard(runtime: Runtime, card: Card, task: TaskState | undefined, atMs: number): void {
  runtime.store.putCard(redactCard(runtime, card));
  appendEntry(runtime, { type: 'card-changed', card }, task && entryPlace(task), atMs);
}

/** Applies an event to a card and returns the card; undefined if the id is unknown. */
export function updateCard(runtime: Runtime, id: string, event: CardEvent): Card | undefined {
  const before = runtime.store.card(id);
  const card = before && changeCard(before, event);
  if (card !== undefined && card !== before) {
    runtime.store.putCard(card);
    appendEntry(runtime, { type: 'card-changed', card }, { task: card.task }, event.atMs);
  }
  return card;
}
