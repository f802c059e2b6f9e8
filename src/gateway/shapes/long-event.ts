/** Reads an event of a stream that is too long to be held: its beginning, its end and its length are known. */

import { type Fields, parseFields } from './shape.ts';

export interface LongEvent {
  readonly head: string;
  readonly tail: string;
  /** In bytes. */
  readonly length: number;
}

/** The type that an event names at its beginning. */
export function readLongType({ head }: LongEvent): string {
  return /"type"\s*:\s*"([\w.]+)"/.exec(head)?.[1] ?? '';
}

/** The last counts in the end of an event. */
export function findLongUsage({ tail }: LongEvent, name: 'usage' | 'usageMetadata'): Fields | undefined {
  const start = tail.lastIndexOf(`"${name}"`);
  const open = start === -1 ? -1 : tail.indexOf('{', start);
  if (open === -1) return undefined;
  let depth = 0;
  for (let at = open; at < tail.length; at++) {
    if (tail[at] === '{') depth++;
    else if (tail[at] === '}' && --depth === 0) return parseFields(tail.slice(open, at + 1));
  }
  return undefined;
}
