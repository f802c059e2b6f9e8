/** Decisions of this person: sent once, and shown with the effect that the store has. */

import { computed, signal } from '@preact/signals';
import { ApiError, apiGet, apiPost, errorText } from '../api.ts';
import {
  type AnswerBody,
  type AnswerResult,
  effectSentence,
  equalsMax,
  releasedSentence,
} from '../logic/card-answers.ts';
import { describeClosed, outcomeOf, splitCommand } from '../logic/card-words.ts';
import { formatCount } from '../logic/format.ts';
import { dropCards, type PageCard, sortOpenCards } from '../logic/inbox-model.ts';
import { encodePart } from '../logic/route.ts';
import { announce } from '../state.ts';
import { inbox, reloadInbox, snoozedCount } from './inbox-store.ts';

/** What became of a decision. */
export interface Decision {
  readonly card: PageCard;
  readonly state: 'sending' | 'done' | 'failed';
  /** The effect, or the reason why there is none. */
  readonly text: string;
  /** The decision as a short label; absent if another person had decided before. */
  readonly outcome?: string;
  /** A command to type in a terminal instead. */
  readonly command?: string;
}

/** How long a decided card stays in the list with its effect. */
const shownMs = 20_000;

/** Decisions by the id of their card. */
export const decisions = signal<ReadonlyMap<string, Decision>>(new Map());

/** Cards that are selected for a decision about several. */
export const selected = signal<ReadonlySet<string>>(new Set());

/** The open cards, and among them those that were just decided. */
export const shownCards = computed<readonly PageCard[]>(() => {
  const { cards } = inbox.value;
  const open = new Set(cards.map(({ id }) => id));
  const decided = [...decisions.value.values()].filter(({ card, state }) => state === 'done' && !open.has(card.id));
  return decided.length === 0 ? cards : sortOpenCards([...cards, ...decided.map(({ card }) => card)]);
});

/** The selected cards that are still open. */
export const selectedCards = computed(() => inbox.value.cards.filter(({ id }) => selected.value.has(id)));

/** Selects or unselects cards. */
export function select(ids: readonly string[], isSelected: boolean): void {
  const next = new Set(selected.peek());
  for (const id of ids) {
    if (isSelected) next.add(id);
    else next.delete(id);
  }
  selected.value = next;
}

function setDecision(id: string, decision: Decision | undefined): void {
  const next = new Map(decisions.peek());
  if (decision === undefined) next.delete(id);
  else next.set(id, decision);
  decisions.value = next;
}

/** Forgets the failure of a decision, when its card is tried again or left. */
export function clearDecision(id: string): void {
  setDecision(id, undefined);
}

/** Shows what became of a card; without an outcome, somebody else was first. */
function showDone(card: PageCard, text: string, outcome: string | undefined): void {
  setDecision(card.id, { card, state: 'done', text, ...(outcome !== undefined && { outcome }) });
  select([card.id], false);
  inbox.value = dropCards(inbox.peek(), ({ id }) => id === card.id);
  setTimeout(() => clearDecision(card.id), shownMs);
}

/** Answers one card. */
export async function decide(card: PageCard, body: AnswerBody): Promise<void> {
  await send(card, `/api/cards/${encodePart(card.id)}/answer`, body, effectSentence);
}

/** Hides one card for some seconds; a question comes back before it expires. */
export async function snooze(card: PageCard, secs: number, words: string): Promise<void> {
  const path = `/api/cards/${encodePart(card.id)}/snooze`;
  await send(card, path, { secs }, () => {
    snoozedCount.value++;
    const back = card.expiresAtMs === undefined ? '' : ', or until shortly before it expires';
    return `Snoozed ${words}${back}. Nothing is decided.`;
  });
}

async function send(
  card: PageCard,
  path: string,
  body: unknown,
  describe: (result: AnswerResult) => string,
): Promise<void> {
  if (decisions.peek().get(card.id)?.state === 'sending') return;
  setDecision(card.id, { card, state: 'sending', text: '' });
  try {
    const result = await apiPost<AnswerResult>(path, body);
    const text = describe(result);
    const isAnswer = path.endsWith('/answer');
    showDone(card, text, isAnswer ? outcomeOf(result.card) : 'snoozed');
    announce(text, 'good');
    if (isAnswer) void followEffect(card, releasedSentence(result));
  } catch (error) {
    const { words, command } = splitCommand(errorText(error));
    const isTooLate = error instanceof ApiError && error.status === 409 && command === undefined;
    const now = isTooLate ? await readClosed(card) : undefined;
    // The card says the error itself, as an alert.
    if (now === undefined)
      setDecision(card.id, { card, state: 'failed', text: words, ...(command !== undefined && { command }) });
    else {
      showDone(card, now, undefined);
      announce(now, 'bad');
    }
  }
  void reloadInbox();
}

/** When the effect of an answer is read again: the process that waited may take it a moment later. */
const effectDelaysMs = [400, 800, 1_600, 3_200, 6_400];

/** Keeps the effect of an answer current while it is shown, with the sentence about the equal cards behind it. */
async function followEffect({ id }: PageCard, released: string): Promise<void> {
  for (const delayMs of effectDelaysMs) {
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    const decision = decisions.peek().get(id);
    if (decision?.state !== 'done') return;
    const answer = await apiGet<{ card: PageCard }>(`/api/cards/${encodePart(id)}`).catch(() => undefined);
    const effect = answer?.card.effect;
    const sentence = typeof effect === 'object' ? effect.sentence : effect;
    if (sentence === undefined || decision.text.startsWith(sentence)) continue;
    const text = `${sentence}${released}`;
    setDecision(id, { ...decision, text });
    announce(text, 'good');
  }
}

/** What became of a card that this person could not decide any more; undefined if it is still open. */
async function readClosed({ id }: PageCard): Promise<string | undefined> {
  const answer = await apiGet<{ card: PageCard }>(`/api/cards/${encodePart(id)}`).catch(() => undefined);
  if (answer === undefined) return 'This card is gone.';
  return answer.card.isOpen === true ? undefined : describeClosed(answer.card);
}

/** The result of one card of a decision about several. */
interface BulkResult {
  readonly id: string;
  readonly card?: PageCard;
  readonly effect?: AnswerResult['effect'];
  readonly error?: { readonly code?: string; readonly message?: string };
}

/** Answers several cards at once, and shows what became of each. */
export async function decideAll(cards: readonly PageCard[], body: AnswerBody): Promise<void> {
  for (const card of cards) setDecision(card.id, { card, state: 'sending', text: '' });
  let done = 0;
  try {
    // Each card decides as many equal ones as it has shown.
    for (const [count, some] of Map.groupBy(cards, (card) => card.count ?? 1)) {
      const whole = { ...body, ...(count > 1 && { equals: Math.min(count - 1, equalsMax) }) };
      for (let at = 0; at < some.length; at += equalsMax)
        done += await decideSome(some.slice(at, at + equalsMax), whole);
    }
    const failed = cards.length - done;
    announce(
      `${formatCount(done, 'card')} decided${failed === 0 ? '.' : `, ${failed} not: each card says why.`}`,
      failed === 0 ? 'good' : 'bad',
    );
  } catch (error) {
    announce(errorText(error), 'bad');
  }
  for (const { id } of cards) if (decisions.peek().get(id)?.state === 'sending') clearDecision(id);
  void reloadInbox();
}

/** Answers cards of one request; returns how many were decided. */
async function decideSome(cards: readonly PageCard[], body: AnswerBody): Promise<number> {
  const ids = cards.map(({ id }) => id);
  const { results } = await apiPost<{ results: readonly BulkResult[] }>('/api/cards/answer', { ids, ...body });
  let done = 0;
  for (const card of cards) {
    const result = results.find(({ id }) => id === card.id);
    if (result === undefined) continue;
    if (result.error === undefined) {
      done++;
      const decided = result.card ?? card;
      const text = effectSentence({ card: decided, ...(result.effect && { effect: result.effect }) });
      showDone(card, text, outcomeOf(decided));
    } else {
      const { words, command } = splitCommand(result.error.message ?? 'The card was not answered.');
      setDecision(card.id, { card, state: 'failed', text: words, ...(command !== undefined && { command }) });
    }
  }
  return done;
}
