import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMatch } from '../../src/core/glob.ts';

test('a star matches any run of characters, and the parts around a star may not overlap', () => {
  const rows: readonly [pattern: string, name: string, fits: boolean][] = [
    ['mail', 'mail', true],
    ['mail', 'mails', false],
    ['*', '', true],
    ['*', 'anything', true],
    ['mail.*', 'mail.send', true],
    ['mail.*', 'mail.', true],
    ['mail.*', 'mail', false],
    ['*.send', 'mail.send', true],
    ['*.send', 'mail.sends', false],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['*ab*c', 'abc', true],
    ['*ab*bc', 'abc', false],
    ['*ab*bc*', 'abc', false],
    ['*ab*bc*', 'abbc', true],
    ['*ab*ab*', 'ab', false],
    ['*ab*ab*', 'abab', true],
    ['x*b*y', 'xaby', true],
    ['x*b*y', 'xacy', false],
    ['x*x*y', 'xy', false],
    ['x*y*y', 'xy', false],
    ['a.c', 'abc', false],
  ];
  for (const [pattern, name, fits] of rows) assert.equal(isMatch(pattern, name), fits, `${pattern} on ${name}`);
});
