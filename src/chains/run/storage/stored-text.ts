/** Stores the plan and the outputs of a run as text, split into cells of bounded length. */

import { partLengthMax, runKeepMs, textPartsMax } from '../../../core/limits.ts';
import type { Store } from '../../../ports/store.ts';
import { readValues, type ValueChange } from './values.ts';

const prefix = 'chain-part/';

/** The key of a text of a run: its plan, or the output of a step. */
export function textKey(run: string, what: 'plan' | number): string {
  return `${prefix}${encodeURIComponent(run)}/${what === 'plan' ? what : `out/${what}`}/`;
}

/** The changes that write a text; a text is written once. */
export function makeTextChanges(key: string, text: string): readonly ValueChange[] {
  const count = Math.max(1, Math.ceil(text.length / partLengthMax));
  return Array.from({ length: count }, (_, at) => {
    const part = text.slice(at * partLengthMax, (at + 1) * partLengthMax);
    return {
      key: partKey(key, at),
      keepMs: runKeepMs,
      releaseAfterWrite: true,
      update: (stored) => (stored === part ? stored : part),
    };
  });
}

/** Reads a text; undefined if there is none. */
export async function readStoredText(store: Store, key: string): Promise<string | undefined> {
  const parts = await readValues<string>(store, key, textPartsMax);
  if (parts.length === 0) return undefined;
  return parts
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ value }) => value)
    .join('');
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
