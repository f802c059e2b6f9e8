/**
 * Writes a lower limit of output tokens into the body of a request. Only the digits of the limit change, so that the
 * rest of the prompt keeps its bytes.
 */

import { findMembers, skipSpace } from './shapes/json-text.ts';
import type { RequestFacts } from './shapes/shape.ts';

/** Writes the limit of output tokens of each answer to its places; undefined if the body has none, or is no object. */
export function clampOutput(text: string, facts: RequestFacts, tokens: number): string | undefined {
  const { maxOutput, outputPath, answers = 1 } = facts;
  const paths = maxOutput?.paths ?? (outputPath === undefined ? [] : [outputPath]);
  const limit = String(Math.max(1, Math.floor(tokens / answers)));
  if (paths.length === 0) return undefined;
  return paths.reduce<string | undefined>((written, path) => written && writeMember(written, path, limit), text);
}

/**
 * Replaces the value at a path of a JSON object, or adds it. A member that is written twice is replaced twice.
 * Returns undefined if the text is no such object.
 */
export function writeMember(text: string, path: readonly string[], json: string): string | undefined {
  const [name, ...rest] = path;
  const start = skipSpace(text, 0);
  if (name === undefined || text[start] !== '{') return undefined;
  const members = findMembers(text, start, name);
  if (members === undefined) return undefined;
  if (members.length === 0) {
    const value = rest.reduceRight((inner, each) => `{${JSON.stringify(each)}:${inner}}`, json);
    const isEmpty = text[skipSpace(text, start + 1)] === '}';
    return `${text.slice(0, start + 1)}${JSON.stringify(name)}:${value}${isEmpty ? '' : ','}${text.slice(start + 1)}`;
  }
  let written = text;
  for (const place of members.toReversed()) {
    const value = rest.length === 0 ? json : writeMember(text.slice(place.start, place.end), rest, json);
    if (value === undefined) return undefined;
    written = written.slice(0, place.start) + value + written.slice(place.end);
  }
  return written;
}
