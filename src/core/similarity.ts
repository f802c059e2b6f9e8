/** How alike two texts are: the Jaccard similarity of their first words. */

import { textLengthMax, tokensMax } from './limits.ts';

/** The different words among the first `cap` of a text, split on whitespace; only a bounded prefix is looked at. */
export function tokensOf(text: string, cap: number = tokensMax): ReadonlySet<string> {
  const words = /\S+/g;
  const prefix = text.length > textLengthMax ? text.slice(0, textLengthMax) : text;
  const found = [''];
  for (let word = words.exec(prefix); word !== null && found.length <= cap; word = words.exec(prefix))
    found.push(word[0]);
  // A piece of a string keeps the whole of it in memory; joining makes a small string for the pieces to belong to.
  const tokens = new Set(found.join(' ').split(' '));
  tokens.delete('');
  return tokens;
}

/** Shared words by all words, from 0 to 1. Two empty sets are alike: a silent agent repeats itself, too. */
export function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 && b.size === 0) return 1;
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  let shared = 0;
  for (const token of small) if (large.has(token)) shared += 1;
  return shared / (a.size + b.size - shared);
}
