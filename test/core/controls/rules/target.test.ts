import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFor, isNarrow, namesTool, parseTarget } from '../../../../src/core/controls/rules/target.ts';
import { nameLengthMax } from '../../../../src/core/limits.ts';

test('parseTarget returns a target in one spelling, and undefined for an invalid target', () => {
  const rows: readonly [unknown, string | undefined][] = [
    ['*', '*'],
    [' * ', '*'],
    ['trade', 'trade'],
    ['mail.*', 'tool:mail.*'],
    ['chain:  trade', 'chain:trade'],
    ['tool: mail', 'tool:mail'],
    ['agent:\tann', undefined],
    ['agent: ann*', 'agent:ann*'],
    ['chain:tr*de', undefined],
    ['chain:', undefined],
    ['other:x', undefined],
    ['', undefined],
    ['a|b', undefined],
    ['a"b', undefined],
    [5, undefined],
    ['x'.repeat(nameLengthMax), 'x'.repeat(nameLengthMax)],
    ['x'.repeat(nameLengthMax + 1), undefined],
  ];
  for (const [text, target] of rows) assert.equal(parseTarget(text), target, String(text));
});

test('a rule applies to the tools, agents and chains that its target names', () => {
  const call = { tool: 'mail.send', agent: 'ann' };
  const step = { ...call, chain: 'trade' };
  const rows: readonly [target: string, subject: Parameters<typeof isFor>[1], fits: boolean][] = [
    ['*', {}, true],
    ['trade', step, true],
    ['mail.send', step, false],
    ['mail.send', call, true],
    ['chain:trade', step, true],
    ['chain:trade', call, false],
    ['tool:mail.*', step, true],
    ['tool:read', call, false],
    ['agent:a*', call, true],
    ['agent:bob', call, false],
    ['agent:*', { tool: 'x' }, false],
  ];
  for (const [target, subject, fits] of rows) assert.equal(isFor(target, subject), fits, target);
});

test('namesTool needs a target that names the tool; isNarrow needs one chain or one agent', () => {
  const names: readonly [string, boolean][] = [
    ['tool:mail', true],
    ['tool:ma*', true],
    ['tool:*', false],
    ['tool:read', false],
    ['mail', true],
    ['*', false],
    ['agent:mail', false],
  ];
  for (const [target, expected] of names) assert.equal(namesTool(target, 'mail'), expected, target);
  assert.equal(namesTool('*', '*'), false);
  const narrow: readonly [string, boolean][] = [
    ['trade', true],
    ['chain:trade', true],
    ['agent:ann', true],
    ['agent:a*', false],
    ['tool:mail', false],
    ['*', false],
  ];
  for (const [target, expected] of narrow) assert.equal(isNarrow(target), expected, target);
});
