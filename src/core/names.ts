/** Names of settings: two spellings of one name, paths as text, and the known name nearest to an unknown one. */

import { nameLengthMax } from './limits.ts';

/** `failureThreshold` and `failure_threshold` are both `failure_threshold`. */
export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `failure_threshold` is `failureThreshold` in TypeScript. */
export function toCamelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** A path as TOML writes it: a part that is not a plain word stands in quotes, a number in brackets. */
export function formatPath(path: readonly (string | number)[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += `${text && '.'}${/^[\w-]+$/.test(part) ? part : JSON.stringify(shorten(part, nameLengthMax))}`;
  }
  return text;
}

/** The beginning of a text that is too long. */
export function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** The name that differs least from the one given, if one is near enough to be meant. */
export function findNearestName(name: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.max(2, Math.floor(name.length / 3)) + 1;
  if (name.length > 64) return undefined; // Nobody mistypes a name into that.
  for (const candidate of candidates) {
    // A forgotten ending (`max_idle` for `max_idle_secs`) is as near as one letter.
    const distance = candidate.startsWith(`${name}_`) ? 1 : editDistance(name, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

/** Letters to add, drop or change to make one name the other. */
export function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
