import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textLengthMax, tokensMax } from '../../src/core/limits.ts';
import { jaccard, maxSimilarity, tokenize } from '../../src/core/similarity.ts';

const likeness = (a: string, b: string) => jaccard(tokenize(a), tokenize(b));

test('tokens are split on any whitespace, and order and repeats do not matter', () => {
  assert.deepEqual(tokenize('  the cat\tthe\n\ndog\u00a0ran '), tokenize('ran dog cat the'));
  assert.equal(tokenize('the cat the dog ran').length, 4);
  assert.equal(tokenize('').length, 0);
  assert.equal(tokenize(' \n\t ').length, 0);
  for (const space of '\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff') {
    assert.equal(tokenize(`a${space}b`).length, 2, `U+${space.charCodeAt(0).toString(16)}`);
  }
  for (const other of '\b\u000e\u001f\u200b\u2010') {
    assert.equal(tokenize(`a${other}b`).length, 1, `U+${other.charCodeAt(0).toString(16)}`);
  }
});

test('only the first tokens are compared', () => {
  const words = Array.from({ length: tokensMax + 100 }, (_, i) => `w${i}`);
  const tokens = tokenize(words.join(' '));
  assert.equal(tokens.length, tokensMax);
  assert.deepEqual(tokens, tokenize(words.slice(0, tokensMax).join(' ')));
  assert.equal(tokenize('a b c d', 3).length, 3);
});

test('the limit of compared tokens counts repeated tokens, too', () => {
  assert.deepEqual(tokenize('a a a b', 3), tokenize('a'));
});

test('similarity is the shared words divided by all words', () => {
  const rows: [string, string, number][] = [
    ['a b c', 'a b c', 1],
    ['a b c', 'c b a a', 1],
    ['a b', 'c d', 0],
    ['a b c', 'b c d', 0.5],
    ['a', '', 0],
    ['', '', 1],
    ['A', 'a', 0],
  ];
  for (const [a, b, expected] of rows) {
    assert.equal(likeness(a, b), expected, `${a} | ${b}`);
    assert.equal(likeness(b, a), expected, `${b} | ${a}`);
  }
});

test('words with adjacent hashes are distinguished', () => {
  assert.equal(jaccard(Int32Array.of(1, 3), Int32Array.of(2, 3)), 1 / 3);
  assert.equal(jaccard(Int32Array.of(2, 3), Int32Array.of(1, 3)), 1 / 3);
});

test('19 of 20 words shared is exactly 0.95', () => {
  const shared = Array.from({ length: 19 }, (_, i) => `w${i}`).join(' ');
  assert.equal(likeness(shared, `${shared} more`), 0.95);
});

test('only a bounded prefix of a huge text is read', () => {
  const huge = 'x'.repeat(10_000_000);
  assert.deepEqual(tokenize(huge), tokenize('x'.repeat(textLengthMax)));
  assert.equal(tokenize(`${' '.repeat(textLengthMax)}beyond`).length, 0);
  assert.equal(tokenize('a b c').buffer.byteLength, 12);
});

test('in JSON data brackets, quotes, colons and commas also separate tokens', () => {
  assert.deepEqual(tokenize('{"path":"a b","lines":[1,2]}', undefined, true), tokenize('path a b lines 1 2'));
  assert.equal(tokenize('{"path":"a"}').length, 1);
  assert.equal(tokenize('fYg', undefined, true).length, 1);
});

test('maxSimilarity returns the highest similarity, and skips texts whose length rules out the threshold', () => {
  const words = tokenize('a b c d');
  assert.equal(maxSimilarity(words, [], 0.5), 0);
  assert.equal(maxSimilarity(words, [tokenize('a b c x'), tokenize('a b c d e')], 0.5), 0.8);
  assert.equal(maxSimilarity(words, [tokenize('a b c d e f g h i')], 0.5), 0);
  assert.equal(maxSimilarity(words, [tokenize('a b c d e f g h')], 0.5), 0.5);
});
