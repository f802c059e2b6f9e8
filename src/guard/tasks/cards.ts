/** The cards of a gear: opened by halts and questions, changed by answers and by time. */

import {
  type Card,
  type CardEvent,
  changeCard,
  gatewayName,
  type QuestionCard,
  supervisorName,
} from '../../core/card.ts';
import type { Stop } from '../../core/verdict.ts';
import { removeInput, storeInput } from '../approval/sealed-input.ts';
import { formatInputLine } from '../approval/shown-input.ts';
import { appendEntry, keepsContent } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { describeCardTask } from './card-task.ts';
import { entryPlace, type TaskState } from './task.ts';

/** Makes the card of a question: the call, why it must be approved, and until when. */
export function makeQuestionCard(
  { settings }: Runtime,
  id: string,
  { code, counters, reason }: Stop,
  question: {
    readonly task: string;
    readonly title: string;
    readonly digest?: string;
    readonly alike?: string | undefined;
    /** Whether the person may put other arguments in place of those of the call. */
    readonly canEdit?: boolean;
  },
  atMs: number,
): Card & { readonly expiresAtMs: number } {
  return {
    id,
    kind: 'ask',
    task: question.task,
    code,
    counters,
    evidence: [question.title, ...(reason === undefined ? [] : [reason])],
    actions: question.canEdit ? ['approve', 'approve_edited', 'decline'] : ['approve', 'decline'],
    state: 'open',
    expiresAtMs: atMs + settings.approval.timeoutSecs * 1000,
    ...(question.digest !== undefined && { digest: question.digest }),
    ...(question.alike !== undefined && { alike: question.alike }),
  };
}

/** The card as the person who is asked sees it: with its input, also as the last line of its evidence. */
export function withInput(card: Card, input: string | undefined): QuestionCard {
  if (input === undefined) return card;
  const line = formatInputLine(input);
  if (line === undefined) return { ...card, input: '' };
  return { ...card, input, evidence: [...card.evidence, line] };
}

/** The part of a digest that ids of cards have: short enough to type. The card holds the whole digest. */
export function shortDigest(digest: string): string {
  return digest.slice(0, 16);
}

/** Creates an id for a card of this gear. */
export function createCardId(runtime: Runtime): string {
  return `card-${runtime.idStem}-${++runtime.ids}`;
}

/** The card as the store keeps it: without the texts of rules, unless the policy keeps content. */
export function redactCard(runtime: Runtime, card: Card): Card {
  return keepsContent(runtime) ? card : (runtime.rules?.redact(card) ?? card);
}

/** Opens a card and returns it: the store keeps it redacted, its input sealed; its entry is without the input. */
export function openCard(
  runtime: Runtime,
  card: Card,
  task: TaskState | undefined,
  atMs: number,
  input?: string,
): Card {
  const opened = { ...describeCardTask(runtime, task, atMs, card), ...card };
  const { expiresAtMs = atMs } = card;
  if (input !== undefined) {
    runtime.inputs.set(card.id, input);
    storeInput(runtime.store, card.id, input, expiresAtMs - atMs);
  }
  runtime.store.putCard(redactCard(runtime, opened));
  appendEntry(runtime, { type: 'card-changed', card: opened }, task && entryPlace(task), atMs);
  return opened;
}

/** Every card in the store; open questions of this gear have their input. */
export function listCards({ store, inputs }: Runtime): readonly QuestionCard[] {
  return store.cards().map((card) => (card.state === 'open' ? withInput(card, inputs.get(card.id)) : card));
}

/** Applies an event to a card and returns the card; undefined if the id is unknown. */
export function updateCard(runtime: Runtime, id: string, event: CardEvent): Card | undefined {
  const before = runtime.store.card(id);
  const { clock } = runtime;
  const card =
    before && changeCard(before, event.type === 'card-answered' ? { wallMs: clock.wallMs(), ...event } : event);
  if (card !== undefined && card !== before) {
    if (event.type === 'card-answered' && !isOwn(event.by)) runtime.counters?.countAnswer(event.answer);
    runtime.store.putCard(card);
    if (card.kind === 'ask' && before?.state === 'open') {
      runtime.inputs.delete(id);
      removeInput(runtime.store, id);
    }
    appendEntry(runtime, { type: 'card-changed', card }, { task: card.task }, event.atMs);
  }
  return card;
}

/** Whether a command has closed a card by itself. */
function isOwn(by: string): boolean {
  return by === supervisorName || by === gatewayName;
}

/** Ends a question that no call waits for any more: its card expires and its input is removed. */
export function withdrawQuestion(runtime: Runtime, id: string, atMs: number): void {
  const { store } = runtime;
  const before = store.card(id);
  runtime.inputs.delete(id);
  if (before?.kind !== 'ask' || before.state !== 'open') return;
  const card = { ...before, state: 'expired' } as const;
  store.putCard(card);
  removeInput(store, id);
  appendEntry(runtime, { type: 'card-changed', card }, { task: card.task }, atMs);
}
