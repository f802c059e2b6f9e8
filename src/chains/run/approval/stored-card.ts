/** Cards in the store: answered for whoever waits for them in any process, or closed when nobody will answer. */

import { type Card, type CardAction, changeCard } from '../../../core/card.ts';
import { questionArgsMax } from '../../../core/limits.ts';
import type { Store } from '../../../ports/store.ts';
import { applyChanges } from '../storage/values.ts';

/** How an answer was taken: `late` where somebody was faster, its time is over, or it was not offered. */
export interface AnswerResult {
  readonly status: 'taken' | 'late' | 'unavailable' | 'unknown';
  readonly card?: Card;
}

/** Answers a card in the store, for whoever waits for it in any process. */
export async function answerStoredCard(
  store: Store,
  id: string,
  answer: CardAction,
  by: string,
): Promise<AnswerResult> {
  const atMs = store.clock.nowMs();
  let before: Card | undefined;
  let card: Card | undefined;
  const update = (stored: Card | undefined) => {
    before = stored;
    card = stored && changeCard(stored, { type: 'card-answered', atMs, answer, by });
    return card;
  };
  const current = store.card(id);
  const answeredCard = current && changeCard(current, { type: 'card-answered', atMs, answer, by });
  const entries =
    answeredCard === undefined
      ? []
      : [{ body: { type: 'card-changed', card: answeredCard } as const, place: { task: answeredCard.task }, atMs }];
  const changed = await applyChanges(store, { card: { id, update }, entries });
  if (changed.status === 'unavailable') return { status: 'unavailable' };
  if (card === undefined) return { status: 'unknown' };
  return { status: card === before ? 'late' : 'taken', card };
}

/** The arguments as a person is shown them: nobody can say yes to what they do not see. Undefined for none. */
export function formatArgs(args: unknown): string | undefined {
  const text = JSON.stringify(args) ?? '{}';
  if (text === '{}') return undefined;
  const rest = text.length - questionArgsMax;
  return `with ${rest > 0 ? `${text.slice(0, questionArgsMax)}… and ${rest} characters more` : text}`;
}

/** Closes a question that nobody will answer any more. */
export async function expireCard(store: Store, id: string): Promise<void> {
  const update = (stored: Card | undefined) =>
    stored?.state === 'open' ? ({ ...stored, state: 'expired' } as const) : stored;
  const current = store.card(id);
  if (current?.state !== 'open') return;
  const body = { type: 'card-changed', card: { ...current, state: 'expired' } } as const;
  await applyChanges(store, {
    card: { id, update },
    entries: [{ body, place: { task: current.task }, atMs: store.clock.nowMs() }],
  });
}
