/** Answers or expires cards in the store, so that any process that waits for the card sees it. */

import { type AnswerOrigin, type Card, type CardAction, type CardEvent, changeCard } from '../../../core/card.ts';
import { removedInputKeepMs } from '../../../core/limits.ts';
import { inputKey } from '../../../guard/internal.ts';
import type { Change, Store } from '../../../ports/store.ts';
import { applyChanges, type ValueChange } from '../storage/values.ts';

/** The result of an answer. `late`: another answer came first, the card expired, or the answer was not offered. */
export interface AnswerResult {
  readonly status: 'taken' | 'late' | 'unavailable' | 'unknown';
  readonly card?: Card;
}

/** What an answer says besides its action. */
export type AnswerWords = Pick<Extract<CardEvent, { readonly type: 'card-answered' }>, 'note' | 'raisedTo'>;

/**
 * Answers a card in the store; any process that waits for the card gets the answer. Of several answers one is taken,
 * and with it its own `together`: what the process that waits reads beside the answer.
 */
export async function answerStoredCard(
  store: Store,
  id: string,
  answer: CardAction,
  by: string,
  from?: AnswerOrigin,
  together: readonly Change[] = [],
  words: AnswerWords = {},
): Promise<AnswerResult> {
  const atMs = store.clock.nowMs();
  const event = { type: 'card-answered', atMs, wallMs: store.clock.wallMs(), answer, by, from, ...words } as const;
  let before: Card | undefined;
  let card: Card | undefined;
  const update = (stored: Card | undefined) => {
    before = stored;
    card = stored && changeCard(stored, event);
    return card === stored && together.length > 0 ? undefined : card;
  };
  const current = store.card(id);
  const answeredCard = current && changeCard(current, event);
  const entries =
    answeredCard === undefined
      ? []
      : [{ body: { type: 'card-changed', card: answeredCard } as const, place: { task: answeredCard.task }, atMs }];
  const values = answeredCard === current ? [] : removedInput(store, id);
  const changed = await applyChanges(store, { values, card: { id, update }, entries, others: together });
  if (changed.status === 'unavailable') return { status: 'unavailable' };
  if (card === undefined) return { status: 'unknown' };
  if (card === before) return { status: 'late', card };
  store.shared?.counters?.countAnswer(answer);
  return { status: 'taken', card };
}

/** The change that removes the input of a question, which is kept only while the question is open. */
function removedInput(store: Store, id: string): readonly ValueChange[] {
  if (store.shared === undefined) return [];
  return [{ key: inputKey(id), keepMs: removedInputKeepMs, releaseAfterWrite: true, update: () => null }];
}

/** Expires a question that no longer needs an answer. */
export async function expireCard(store: Store, id: string): Promise<void> {
  const update = (stored: Card | undefined) =>
    stored?.state === 'open' ? ({ ...stored, state: 'expired' } as const) : stored;
  const current = store.card(id);
  if (current?.state !== 'open') return;
  const body = { type: 'card-changed', card: { ...current, state: 'expired' } } as const;
  await applyChanges(store, {
    values: removedInput(store, id),
    card: { id, update },
    entries: [{ body, place: { task: current.task }, atMs: store.clock.nowMs() }],
  });
}
