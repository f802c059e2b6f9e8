/**
 * Stores the plan and the outputs of a run as text, split into cells of bounded length. They have what parameters and
 * tools contain, so a shared store has them encrypted with a key from its secret.
 */

import { partLengthMax, runKeepMs, textPartsMax } from '../../../core/limits.ts';
import { sealText, unsealText } from '../../../guard/internal.ts';
import type { Store } from '../../../ports/store.ts';
import { readValues, type ValueChange } from './values.ts';

const prefix = 'chain-part/';

/** The key of a text of a run: its plan, or the output of a step. */
export function textKey(run: string, what: 'plan' | number): string {
  return `${prefix}${encodeURIComponent(run)}/${what === 'plan' ? what : `out/${what}`}/`;
}

/** Begins a sealed text; no JSON text begins so. */
const sealedMark = 'sealed:';
/** Characters of a sealed text per cell: it is a third longer, and needs no quotes. */
const sealedPartMax = (partLengthMax / 3) * 4;

/** The changes that write a text; a text is written once. */
export function makeTextChanges({ shared }: Store, key: string, text: string): readonly ValueChange[] {
  const isSealed = shared !== undefined && shared.secret !== '';
  const stored = isSealed ? sealedMark + sealText(shared.secret, key, text) : text;
  const lengthMax = isSealed ? sealedPartMax : partLengthMax;
  const count = Math.max(1, Math.ceil(stored.length / lengthMax));
  return Array.from({ length: count }, (_, at) => {
    const part = stored.slice(at * lengthMax, (at + 1) * lengthMax);
    return {
      key: partKey(key, at),
      keepMs: runKeepMs,
      releaseAfterWrite: true,
      update: (before) => (before === part ? before : part),
    };
  });
}

/** Reads a text; undefined if there is none. */
export async function readStoredText(store: Store, key: string): Promise<string | undefined> {
  const parts = await readValues<string>(store, key, textPartsMax);
  if (parts.length === 0) return undefined;
  const text = parts
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ value }) => value)
    .join('');
  return text.startsWith(sealedMark)
    ? unsealText(store.shared?.secret ?? '', key, text.slice(sealedMark.length))
    : text;
}

/** Drops every text of a run from a memory store. */
export function dropTexts(store: Store, run: string): void {
  const own = `${prefix}${encodeURIComponent(run)}/`;
  for (const key of [...store.keys()]) if (key.startsWith(own)) store.drop(key);
}

/** Formats the number of a part with a fixed length, so that keys sort in order. */
function partKey(key: string, at: number): string {
  return key + String(at).padStart(4, '0');
}
