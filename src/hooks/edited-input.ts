/** The input that a person puts in place of that of a call. Loaded only if somebody is asked who may edit. */

import { parseEditedArgs } from '../core/card.ts';
import { describeUnfitEdit, keepEditForm, type Runtime, readInput, requestId } from '../guard/internal.ts';
import type { InputEdits, Payload } from './hosts/hook-event.ts';

/**
 * Remembers with a question which fields an edited input must have, so that the inbox can refuse another one. A host
 * that takes any object needs none.
 */
export function rememberEditForm(
  { store, settings }: Runtime,
  card: string,
  [input]: readonly unknown[],
  edits: InputEdits,
): void {
  if (edits !== 'merge') return;
  keepEditForm(store, card, { fields: listKeptFields(input, edits) }, settings.approval.timeoutSecs * 1000);
}

/** The fields that an edit must have: a host that merges cannot leave one out. */
function listKeptFields(input: unknown, edits: InputEdits): readonly string[] {
  return edits === 'merge' && typeof input === 'object' && input !== null ? Object.keys(input) : [];
}

/** Reads the input that a person approved with the answer to a card, or why it cannot be used. */
export async function readEditedInput(
  { store }: Runtime,
  card: string,
  [input]: readonly unknown[],
  edits: InputEdits | undefined,
): Promise<{ readonly input: Payload } | { readonly reason: string }> {
  if (edits === undefined) return { reason: 'it was approved with other arguments, which its host cannot take' };
  const text = await readInput(store, requestId(card));
  if (text === undefined) return { reason: 'it was approved with other arguments, which the store does not have' };
  const args = parseEditedArgs(text);
  const unfit = describeUnfitEdit(args, { fields: listKeptFields(input, edits) });
  return unfit === undefined
    ? { input: args[0] as Payload }
    : { reason: `it was approved with other arguments; ${unfit}` };
}
