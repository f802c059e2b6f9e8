import assert from 'node:assert/strict';
import test from 'node:test';
import { resolveBreaker } from '../../../src/core/controls/resolve-settings.ts';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';
import { presets } from '../../../src/policy/table/presets.ts';

const numbers: readonly (readonly [string, readonly unknown[]])[] = [
  ['default', ['timed', 5, 60, 2, true, 30]],
  ['praison', ['timed', 5, 60, 2, true, 30]],
  ['cuedeck', ['timed', 5, 30, 1, false, 30]],
  ['cuedeck-watcher', ['manual', 5, 30, 1, false, 30]],
  ['llm', ['timed', 3, 30, 2, true, undefined]],
  ['memory', ['timed', 2, 60, 2, true, 30]],
  ['mcp', ['timed', 3, 45, 2, true, 30]],
];

for (const [preset, expected] of numbers) {
  test(`the preset ${preset} means the same for a document and for one tool`, () => {
    const whole = checkPolicy({ preset }).settings.circuitBreaker;
    const tool = resolveBreaker(checkPolicy({ tools: { x: { preset } } }).settings, { tool: 'x' });
    assert.deepEqual(tool, whole);
    const { recovery, failureThreshold, recoveryTimeoutSecs, successThreshold, gracefulDegradation, timeoutSecs } =
      whole;
    assert.deepEqual(
      [recovery, failureThreshold, recoveryTimeoutSecs, successThreshold, gracefulDegradation, timeoutSecs],
      expected,
    );
  });
}

test('every preset is a valid policy, and no preset switches a control off', () => {
  for (const preset of Object.keys(presets)) {
    const { settings } = checkPolicy({ preset });
    assert.equal(settings.mode, 'enforce');
    assert.equal(settings.circuitBreaker.mode, 'enforce');
    assert.equal(settings.loop.enabled, true);
  }
});

test('the preset delegation also counts tools as workers', () => {
  assert.equal(checkPolicy({ preset: 'delegation' }).settings.delegation.tools, true);
  assert.equal(checkPolicy({}).settings.delegation.tools, false);
});

test('the preset praison ignores no error name', () => {
  assert.deepEqual(checkPolicy({ preset: 'praison' }).settings.circuitBreaker.ignoreErrors, []);
});

test('settings of a document override its preset', () => {
  const { circuitBreaker } = checkPolicy({ circuit_breaker: { failure_threshold: 9 }, preset: 'mcp' }).settings;
  assert.deepEqual([circuitBreaker.failureThreshold, circuitBreaker.recoveryTimeoutSecs], [9, 45]);
});

test('the preset default restores the default settings for one tool', () => {
  const { settings } = checkPolicy({
    circuit_breaker: { failure_threshold: 9, max_concurrent: 2 },
    tools: { x: { preset: 'default' } },
  });
  const { failureThreshold, maxConcurrent } = resolveBreaker(settings, { tool: 'x' });
  assert.deepEqual([failureThreshold, maxConcurrent], [5, undefined]);
});

test('the spelling reset_timeout_seconds means the preset cuedeck, unless another is named', () => {
  const meant = checkPolicy({ circuit_breaker: { reset_timeout_seconds: 40 } });
  assert.deepEqual(
    [meant.settings.circuitBreaker.successThreshold, meant.settings.circuitBreaker.recoveryTimeoutSecs],
    [1, 40],
  );
  assert.deepEqual(meant.provenance.get('preset'), {
    value: 'cuedeck',
    source: 'code',
    note: 'meant by reset_timeout_seconds',
  });
  const named = checkPolicy({ preset: 'default', circuit_breaker: { reset_timeout_seconds: 40 } });
  assert.equal(named.settings.circuitBreaker.successThreshold, 2);
  const tool = checkPolicy({ tools: { x: { reset_timeout_seconds: 40 } } });
  assert.equal(tool.settings.circuitBreaker.successThreshold, 2);
});
