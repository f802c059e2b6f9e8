import assert from 'node:assert/strict';
import test from 'node:test';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';
import { applyEnvironment } from '../../../src/policy/environment.ts';
import { explainPolicy, listAdvice } from '../../../src/policy/pages/explain.ts';

const line = (lines: readonly string[], name: string) =>
  lines
    .find((one) => one.trim().startsWith(`${name} `))
    ?.trim()
    .replaceAll(/ +/g, ' ');

test('an explanation states value, unit, origin and alias', () => {
  const policy = checkPolicy(
    { preset: 'mcp', circuit_breaker: { recovery_timeout: 12 } },
    { file: 'switchgear.toml', lineOf: () => 3 },
  );
  const lines = explainPolicy(applyEnvironment(policy, { BB_CIRCUIT_BREAKER_TOOL_CAP: '60' }));
  assert.equal(
    line(lines, 'recovery_timeout_secs'),
    'recovery_timeout_secs 12 s switchgear.toml, line 3: recovery_timeout (alias of recovery_timeout_secs)',
  );
  assert.equal(line(lines, 'failure_threshold'), 'failure_threshold 3 preset mcp');
  assert.equal(line(lines, 'max_tool_calls'), 'max_tool_calls 60 environment BB_CIRCUIT_BREAKER_TOOL_CAP');
  assert.equal(line(lines, 'max_spend_cents'), 'max_spend_cents 5000 cents default');
  assert.equal(line(lines, 'max_tokens'), 'max_tokens none default');
});

test('settings of agents and tools come last, under their paths', () => {
  const lines = explainPolicy(
    checkPolicy({ tools: { 'a.*': { timeout: 1 } }, agents: { R: { task: { max_tokens: 1 } } } }),
  );
  const heads = lines.filter((one) => one.startsWith('['));
  assert.deepEqual(heads.slice(-3), ['[gateway]', '[agents.R.task]', '[tools."a.*"]']);
});

test('no line of an explanation is longer than 120 characters', () => {
  for (const one of explainPolicy(checkPolicy({}))) assert.ok(one.length <= 120, one);
});

test('the default policy causes no advice', () => {
  assert.deepEqual(listAdvice(checkPolicy({}).settings), []);
});

const advised: readonly (readonly [object, RegExp])[] = [
  [{ mode: 'observe' }, /nothing is refused/],
  [{ circuit_breaker: { mode: 'off' } }, /do not run production without breakers/],
  [{ tools: { x: { mode: 'off' } } }, /this tool has no breaker/],
  [{ loop: { enabled: false } }, /repeats itself/],
  [{ circuit_breaker: { failure_threshold: 50 } }, /flaky tools/],
  [{ circuit_breaker: { timeout_secs: 'none' } }, /slow tools/],
  [{ circuit_breaker: { recovery_timeout_secs: 1 } }, /outages/],
  [{ task: { max_idle_secs: 3600 } }, /never applies first/],
  [{ journal: { content: 'full' } }, /secrets/],
];

for (const [policy, expected] of advised) {
  test(`explain gives advice on ${JSON.stringify(policy)}`, () => {
    const advice = listAdvice(checkPolicy(policy).settings);
    assert.equal(advice.length, 1);
    assert.match(advice[0] ?? '', expected);
    assert.ok(explainPolicy(checkPolicy(policy)).includes('Advice'));
  });
}
