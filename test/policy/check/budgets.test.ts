import assert from 'node:assert/strict';
import test from 'node:test';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';
import { parsePolicy } from '../../../src/policy/file/files.ts';

test('budgets are read from TOML and YAML in document order, and the default is no budget', () => {
  assert.deepEqual(checkPolicy({}).settings.budgets, []);
  const toml = `
[[budgets]]
scope = "global"
unit = "calls"
limit = 9

[[budgets]]
scope = "agent"
unit = "tokens"
limit = 5
window_secs = 60
`;
  const yaml = `
budgets:
  - { scope: global, unit: calls, limit: 9 }
  - { scope: agent, unit: tokens, limit: 5, window_secs: 60 }
`;
  const expected = [
    { scope: 'global', unit: 'calls', limit: 9 },
    { scope: 'agent', unit: 'tokens', limit: 5, windowSecs: 60 },
  ];
  assert.deepEqual(parsePolicy(toml, 'x.toml').settings.budgets, expected);
  assert.deepEqual(parsePolicy(yaml, 'x.yaml').settings.budgets, expected);
});

test('the window of a budget may be written in camel case, and "none" means no window', () => {
  const said = { scope: 'session', unit: 'calls', limit: 1 };
  const budgets = (...list: readonly object[]) => checkPolicy({ budgets: list }).settings.budgets;
  assert.deepEqual(budgets({ ...said, windowSecs: 2.5 }), [{ ...said, windowSecs: 2.5 }]);
  assert.deepEqual(budgets({ ...said, window_secs: 'none' }), [said]);
});

const good = { scope: 'global', unit: 'calls', limit: 1 };
const bad: readonly (readonly [string, unknown, RegExp])[] = [
  ['no list', good, /^budgets must be a list of at most 100 budgets, got a table$/],
  [
    'too many',
    Array.from({ length: 101 }, () => good),
    /^budgets must be a list of at most 100 budgets, got a list of/,
  ],
  ['no table', [7], /^budgets\[0\] must be a table, got 7$/],
  ['nothing said', [{}], /budgets\[0\] must set scope\n- budgets\[0\] must set unit\n- budgets\[0\] must set/],
  [
    'another scope',
    [{ ...good, scope: 'team' }],
    /^budgets\[0\]\.scope must be "session", "agent", "project", "global", "key" or "model"/,
  ],
  [
    'another unit',
    [{ ...good, unit: 'minutes' }],
    /^budgets\[0\]\.unit must be "calls", "model_calls", "tokens" or "spend_cents", got/,
  ],
  ['no limit', [{ ...good, limit: 0 }], /^budgets\[0\]\.limit must be a whole number from 1, got 0$/],
  ['no end', [{ ...good, limit: 1e12 }], /^budgets\[0\]\.limit must be at most 100000000000, got 1000000000000$/],
  ['a limit of none', [{ ...good, limit: 'none' }], /^budgets\[0\]\.limit must be a whole number from 1, got "none"$/],
  [
    'an empty window',
    [{ ...good, window_secs: 0 }],
    /^budgets\[0\]\.window_secs must be a number above 0 or "none", got 0$/,
  ],
  ['a slip', [{ ...good, window: 60 }], /^budgets\[0\]\.window is not a setting; did you mean window_secs\?$/],
  ['the same twice', [good, { ...good, limit: 2 }], /^budgets\[1\] repeats budgets\[0\]: keep one of them$/],
];

for (const [name, budgets, message] of bad) {
  test(`an invalid budget is rejected with a message: ${name}`, () => {
    assert.throws(() => checkPolicy({ budgets }), { code: 'invalid_policy', message });
  });
}

test('a problem with a budget names the line in the file', () => {
  const text = '[[budgets]]\nscope = "global"\nunit = "calls"\nlimit = -1\n';
  assert.throws(() => parsePolicy(text, 'x.toml'), /budgets\[0\]\.limit .*got -1 \(x\.toml, line 4\)/);
});
