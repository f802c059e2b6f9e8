import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textLengthMax, tokensMax } from './limits.ts';
import { jaccard, tokensOf } from './similarity.ts';

const likeness = (a: string, b: string) => jaccard(tokensOf(a), tokensOf(b));

test('tokens are split on any whitespace, each kept once, order and repeats aside', () => {
  assert.deepEqual([...tokensOf('  the cat\tthe\n\ndog\u00a0ran ')], ['the', 'cat', 'dog', 'ran']);
  assert.equal(tokensOf('').size, 0);
  assert.equal(tokensOf(' \n\t ').size, 0);
});

test('only the first tokens are compared', () => {
  const words = Array.from({ length: tokensMax + 100 }, (_, i) => `w${i}`);
  const tokens = tokensOf(words.join(' '));
  assert.equal(tokens.size, tokensMax);
  assert.ok(tokens.has(`w${tokensMax - 1}`));
  assert.ok(!tokens.has(`w${tokensMax}`));
  assert.equal(tokensOf('a b c d', 3).size, 3);
});

test('the cap counts tokens, not different tokens', () => {
  assert.deepEqual([...tokensOf('a a a b', 3)], ['a']);
});

test('likeness is what is shared by what there is', () => {
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

test('19 of 20 words shared is exactly 0.95', () => {
  const shared = Array.from({ length: 19 }, (_, i) => `w${i}`).join(' ');
  assert.equal(likeness(shared, `${shared} more`), 0.95);
});

test('a huge text is looked at in a bounded prefix only', () => {
  const oneWord = tokensOf('x'.repeat(10_000_000));
  assert.deepEqual(
    [...oneWord].map((token) => token.length),
    [textLengthMax],
  );
  assert.equal(tokensOf(`${' '.repeat(textLengthMax)}beyond`).size, 0);
});
