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

/** What edited arguments must be like, where the host of a call takes one object only. */
export interface EditForm {
  /** The fields that the object must have. */
  readonly fields: readonly string[];
}

/** Keeps the form of an edit sealed in a shared store while its question is open: field names are content, too. */
export function keepEditForm(store: Store, cardId: string, form: EditForm, keepMs: number): void {
  storeInput(store, formId(cardId), JSON.stringify(form), keepMs);
}

/** Reads the form that edited arguments of a card must have; undefined if any will do. */
export async function readEditForm(store: Store, cardId: string): Promise<EditForm | undefined> {
  const text = await readInput(store, formId(cardId));
  // Every host with hooks takes one object.
  if (text === undefined) return cardId.startsWith(hookCardPrefix) ? { fields: [] } : undefined;
  return JSON.parse(text);
}

/** Forgets the form of an edit, once its question is answered. */
export function removeEditForm(store: Store, cardId: string): void {
  removeInput(store, formId(cardId));
}

/** The ids of questions that a hook asks begin so. */
export const hookCardPrefix = 'hook-';

/** Why edited arguments do not have the form that the host needs, or undefined. */
export function describeUnfitEdit(args: readonly unknown[], { fields }: EditForm): string | undefined {
  const [input] = args;
  if (args.length !== 1 || typeof input !== 'object' || input === null || Array.isArray(input))
    return 'its host takes one JSON object, the whole input of the tool';
  const missing = fields.filter((field) => !Object.hasOwn(input, field));
  if (missing.length === 0) return undefined;
  return `its host merges an edited input into its own, so no field can be left out: ${missing.join(', ')}`;
}

function formId(cardId: string): string {
  return `form/${cardId}`;
}
