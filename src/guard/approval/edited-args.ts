/** The arguments that a person put in place of those of a call, kept sealed between the answer and the call. */

import { evictOldest } from '../../core/bounded.ts';
import { parseEditedArgs } from '../../core/card.ts';
import { cardKeepMs, cardsMax } from '../../core/limits.ts';
import type { Store } from '../../ports/store.ts';
import { readInput, removeInput, requestId, storeInput } from './sealed-input.ts';

/** Keeps what a person wrote beside the answer to a card: a shared store has it sealed, and no journal has it. */
export function keepRequest(store: Store, inputs: Map<string, string>, cardId: string, text: string): void {
  evictOldest(inputs, cardsMax);
  inputs.set(requestId(cardId), text);
  storeInput(store, requestId(cardId), text, cardKeepMs);
}

/** Reads the edited arguments of an approved card and removes them; undefined if the store does not have them. */
export async function takeEditedArgs(
  store: Store,
  inputs: Map<string, string>,
  cardId: string,
): Promise<readonly unknown[] | undefined> {
  const id = requestId(cardId);
  const text = inputs.get(id) ?? (await readInput(store, id));
  inputs.delete(id);
  removeInput(store, id);
  try {
    return text === undefined ? undefined : parseEditedArgs(text);
  } catch {
    return undefined;
  }
}
