/** The cards of a gear: opened when something halted or asks, turned by answers and by time. */

import { type Card, type CardEvent, changeCard } from '../../core/card.ts';
import { appendEntry, keepsContent } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { entryPlace, type TaskState } from './task.ts';

/** Opens a card; it comes back whole, for whoever is asked, and is kept without words that nobody wants held. */
export function openCard(
  runtime: Runtime,
  content: Omit<Card, 'id' | 'state'>,
  task: TaskState | undefined,
  atMs: number,
): Card {
  const card: Card = { id: `card-${runtime.idStem}-${++runtime.ids}`, ...content, state: 'open' };
  runtime.store.putCard(keepsContent(runtime) ? card : (runtime.rules?.redact(card) ?? card));
  appendEntry(runtime, { type: 'card-changed', card }, task && entryPlace(task), atMs);
  return card;
}

/** The card after an event, or as it was; undefined where there is none. */
export function updateCard(runtime: Runtime, id: string, event: CardEvent): Card | undefined {
  const before = runtime.store.card(id);
  const card = before && changeCard(before, event);
  if (card !== undefined && card !== before) {
    runtime.store.putCard(card);
    appendEntry(runtime, { type: 'card-changed', card }, { task: card.task }, event.atMs);
  }
  return card;
}
