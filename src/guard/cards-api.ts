/** The public type of the inbox of a gear. */

import type { AnsweredCard, Card, CardAction, QuestionCard } from '../core/card.ts';

/** The inbox of a gear. */
export interface Cards {
  /** Every card in the store, open or answered; open questions of this gear have their `input`. */
  list(): readonly QuestionCard[];
  /**
   * Answers a card, and returns it; undefined if the id is unknown. A waiting call receives `approve` and `decline`;
   * the other answers are for your program, see `waitForAnswer`. The first answer stands: a later one returns the card
   * with the first. Throws a `SwitchgearError` with the code `not_answered` if the card does not offer the answer.
   *
   * @param request The smaller request of `narrow_scope`, or the words for a new plan of `replan`.
   * @default request none
   */
  answer(cardId: string, answer: CardAction, by: string, request?: string): Card | undefined;
  /**
   * Resolves with a card once a person has answered it, in this process or in the inbox of a shared store, or once it
   * has expired; undefined if the id is unknown. Rejects when the signal aborts or the gear is disposed.
   * @example
   * const card = gear.cards.list().find(({ kind, state }) => kind === 'halt' && state === 'open');
   * const { answer, request, task } = (card && (await gear.cards.waitForAnswer(card.id))) ?? {};
   * if (answer === 'retry_raised') await gear.task(gear.retryOptions(task!)!, () => console.log('once more'));
   * else if (answer === 'narrow_scope' || answer === 'replan') console.log('plan anew:', request);
   */
  waitForAnswer(cardId: string, options?: { readonly signal?: AbortSignal }): Promise<AnsweredCard | undefined>;
}
