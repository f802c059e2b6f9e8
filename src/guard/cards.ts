/** The cards of a gear: opened when something halted or asks, turned by answers and by time. */

import { type Card, type CardEvent, changeCard } from '../core/card.ts';
import type { Store } from '../ports/store.ts';
import { withoutValues } from './held.ts';
import type { Notebook } from './notebook.ts';
import { placeOf, type TaskNode } from './task-node.ts';

export interface Cards {
  /** Opens a card; it comes back whole, for whoever is asked, and is kept without words that nobody wants held. */
  open(card: Omit<Card, 'id' | 'state'>, task: TaskNode | undefined, atMs: number): Card;
  /** The card after an event, or as it was; undefined where there is none. */
  turn(id: string, event: CardEvent): Card | undefined;
}

export function createCards(store: Store, notes: Notebook, cardId: () => string): Cards {
  return {
    open(given, task, atMs) {
      const card: Card = { id: cardId(), ...given, state: 'open' };
      store.putCard(notes.holdsWords ? card : withoutValues(card));
      notes.write({ type: 'card-changed', card }, task === undefined ? {} : placeOf(task), atMs);
      return card;
    },
    turn(id, event) {
      const card = store.card(id);
      if (card === undefined) return undefined;
      const next = changeCard(card, event);
      if (next === card) return card;
      store.putCard(next);
      notes.write({ type: 'card-changed', card: next }, { task: card.task }, event.atMs);
      return next;
    },
  };
}
