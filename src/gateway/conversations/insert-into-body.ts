/** Writes texts for the model into the body of a request. All other bytes of the body stay as they are. */

import { findMembers, type Place, skipSpace, skipString, skipValue } from '../shapes/json-text.ts';
import type { BodyInsert } from '../shapes/shape.ts';

/** Inserts texts into a JSON body; one whose place does not exist is left out. */
export function insertIntoBody(body: Buffer, inserts: readonly BodyInsert[]): Buffer {
  // One letter for each byte: the offsets in the text are those in the body.
  const text = body.toString('latin1');
  const written = inserts.map((each) => writeInsert(text, each)).filter((each) => each !== undefined);
  written.sort((a, b) => a.offset - b.offset);
  const parts: Buffer[] = [];
  let start = 0;
  for (const { offset, bytes } of written) {
    parts.push(body.subarray(start, offset), bytes);
    start = offset;
  }
  return Buffer.concat([...parts, body.subarray(start)]);
}

function writeInsert(text: string, { path, as, value }: BodyInsert): { offset: number; bytes: Buffer } | undefined {
  const place = findValue(text, path);
  if (place === undefined) return undefined;
  const json = JSON.stringify(value);
  const last = place.end - 1;
  if (as === 'next-item') return { offset: place.end, bytes: Buffer.from(`,${json}`) };
  if (as === 'end-of-text')
    return text[place.start] === '"' ? { offset: last, bytes: Buffer.from(json.slice(1, -1)) } : undefined;
  if (text[place.start] !== '[') return undefined;
  const isEmpty = skipSpace(text, place.start + 1) === last;
  return { offset: last, bytes: Buffer.from(isEmpty ? json : `,${json}`) };
}

/** The place of the value at a path. Of members with one name, the last one holds. */
function findValue(text: string, path: readonly (string | number)[]): Place | undefined {
  const start = skipSpace(text, 0);
  let place: Place | undefined = { start, end: skipValue(text, start) };
  for (const step of path) {
    if (place === undefined) return undefined;
    place = typeof step === 'number' ? findItem(text, place.start, step) : findMember(text, place.start, step);
  }
  return place;
}

function findMember(text: string, start: number, name: string): Place | undefined {
  return text[start] === '{' ? findMembers(text, start, name)?.at(-1) : undefined;
}

function findItem(text: string, start: number, index: number): Place | undefined {
  if (text[start] !== '[') return undefined;
  let at = skipSpace(text, start + 1);
  for (let passed = 0; text[at] !== ']' && at < text.length; passed++) {
    const end = text[at] === '"' ? skipString(text, at) : skipValue(text, at);
    if (passed === index) return { start: at, end };
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return undefined;
}
