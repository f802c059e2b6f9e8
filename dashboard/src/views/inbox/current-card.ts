/** The card that keys act on: the one with the focus, moved by j and k. */

import { signal } from '@preact/signals';
import { shownCards } from '../../live/decisions.ts';

/** The id of the current card. */
export const currentCard = signal<string | undefined>(undefined);

/** A key that a card has to act on; the card takes it. */
export const pressed = signal<{ readonly card: string; readonly key: string } | undefined>(undefined);

/** The id of the element of a card. */
export function cardElementId(id: string): string {
  return `card:${id}`;
}

/** Moves to the next or the previous card; returns whether there is one. */
export function moveBy(step: 1 | -1): boolean {
  const cards = shownCards.peek();
  const at = cards.findIndex(({ id }) => id === currentCard.peek());
  const next = cards[at < 0 ? 0 : Math.min(cards.length - 1, Math.max(0, at + step))];
  if (next !== undefined) focusCard(next.id);
  return next !== undefined;
}

/** Moves the focus to a card. */
export function focusCard(id: string): void {
  currentCard.value = id;
  const element = document.getElementById(cardElementId(id));
  element?.focus({ preventScroll: true });
  element?.scrollIntoView({ block: 'nearest' });
}

/** Lets the current card act on a key. */
export function pressKey(key: string): void {
  const { value: card } = currentCard;
  if (card !== undefined) pressed.value = { card, key };
}
