/** Computes the Jaccard similarity of the first words of two texts; each word is kept as a number. */

import { textLengthMax, tokensMax } from './limits.ts';

/** Buffer for sorting words; unused between calls. */
const scratch = new Int32Array(tokensMax);

/**
 * The distinct words among the first `cap` of a text, split on whitespace, as sorted numbers.
 * In data, brackets, quotes, colons and commas also split words.
 */
export function tokenize(text: string, cap: number = tokensMax, isData = false): Int32Array {
  const end = Math.min(text.length, textLengthMax);
  const most = Math.min(cap, tokensMax);
  let count = 0;
  for (let at = 0; at < end && count < most; ) {
    let hash = 0x811c9dc5 | 0;
    let stop = at;
    for (
      let code = text.charCodeAt(stop);
      stop < end && !isSpace(code) && !(isData && isMark(code));
      code = text.charCodeAt(++stop)
    ) {
      hash = Math.imul(hash ^ code, 0x01000193);
    }
    if (stop > at) scratch[count++] = hash ^ (hash >>> 15);
    at = stop + 1;
  }
  const sorted = scratch.subarray(0, count).sort();
  let uniqueCount = 0;
  for (let at = 0; at < count; at++) if (at === 0 || sorted[at] !== sorted[at - 1]) sorted[uniqueCount++] = sorted[at]!;
  return scratch.slice(0, uniqueCount);
}

/** Shared words divided by all words, from 0 to 1. Two empty texts are equal: a silent agent repeats itself. */
export function jaccard(a: Int32Array, b: Int32Array): number {
  let shared = 0;
  for (let left = 0, right = 0; left < a.length && right < b.length; ) {
    const difference = a[left]! - b[right]!;
    if (difference === 0) shared++;
    if (difference <= 0) left++;
    if (difference >= 0) right++;
  }
  return a.length + b.length === 0 ? 1 : shared / (a.length + b.length - shared);
}

/** The highest similarity to a candidate, or 0; candidates whose length rules out `least` are skipped. */
export function maxSimilarity(tokens: Int32Array, candidates: readonly Int32Array[], least: number): number {
  let highest = 0;
  for (const candidate of candidates) {
    const shorter = Math.min(tokens.length, candidate.length);
    const longer = Math.max(tokens.length, candidate.length);
    if (shorter >= least * longer) highest = Math.max(highest, jaccard(tokens, candidate));
  }
  return highest;
}

const marks = new Set([...'"(),:[]{}'].map((char) => char.charCodeAt(0)));

/** Brackets, quotes, colons and commas. */
function isMark(code: number): boolean {
  return code < 0x7e && marks.has(code);
}

/** Matches the same characters as `\s`, at a much lower cost. */
function isSpace(code: number): boolean {
  if (code < 0x1680) return code === 32 || (code >= 9 && code <= 13) || code === 0xa0;
  return (code <= 0x3000 || code === 0xfeff) && /\s/.test(String.fromCharCode(code));
}
