import assert from 'node:assert/strict';
import test from 'node:test';
import { resolveBreaker, resolveTask } from '../../../src/core/controls/resolve-settings.ts';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';

test('the more specific setting wins: general, agent, pattern, longer pattern, name, code', () => {
  const { settings } = checkPolicy({
    circuit_breaker: {
      failure_threshold: 10,
      success_threshold: 10,
      window_calls: 10,
      minimum_calls: 10,
      half_open_permits: 10,
      jitter_seed: 10,
    },
    agents: {
      R: {
        circuit_breaker: {
          success_threshold: 20,
          window_calls: 20,
          minimum_calls: 20,
          half_open_permits: 20,
          jitter_seed: 20,
        },
      },
    },
    tools: {
      'mail.send': { half_open_permits: 50, jitter_seed: 50 },
      'mail.*': { minimum_calls: 40, half_open_permits: 40, jitter_seed: 40 },
      '*': { window_calls: 30, minimum_calls: 30, half_open_permits: 30, jitter_seed: 30 },
    },
  });
  const { failureThreshold, successThreshold, windowCalls, minimumCalls, halfOpenPermits, jitterSeed } = resolveBreaker(
    settings,
    {
      tool: 'mail.send',
      agent: 'R',
      overrides: { jitterSeed: 60 },
    },
  );
  assert.deepEqual(
    { failureThreshold, successThreshold, windowCalls, minimumCalls, halfOpenPermits, jitterSeed },
    {
      failureThreshold: 10,
      successThreshold: 20,
      windowCalls: 30,
      minimumCalls: 40,
      halfOpenPermits: 50,
      jitterSeed: 60,
    },
  );
  assert.equal(resolveBreaker(settings, { tool: 'mail.read', agent: 'R' }).halfOpenPermits, 40);
  assert.equal(resolveBreaker(settings, { tool: 'other' }).successThreshold, 10);
});

test('of two patterns with equally many literal characters the later one wins', () => {
  const { settings } = checkPolicy({ tools: { 'a*': { failure_threshold: 1 }, '*b': { failure_threshold: 2 } } });
  assert.equal(resolveBreaker(settings, { tool: 'ab' }).failureThreshold, 2);
});

test('settings for tool_x also apply to the tool x, and settings for x take precedence', () => {
  const { settings } = checkPolicy({ tools: { tool_x: { failure_threshold: 3 }, x: { recovery_timeout: 9 } } });
  const { failureThreshold, recoveryTimeoutSecs } = resolveBreaker(settings, { tool: 'x' });
  assert.deepEqual([failureThreshold, recoveryTimeoutSecs], [3, 9]);
  assert.equal(resolveBreaker(settings, { tool: 'tool_x' }).failureThreshold, 3);
  assert.equal(resolveBreaker(settings, { tool: 'y' }).failureThreshold, 5);
});

test('same_error_tools count only the same error in a row, unless the settings of the tool say otherwise', () => {
  const sameError = (tool: string, policy: object = {}) =>
    resolveBreaker(checkPolicy(policy).settings, { tool }).sameErrorOnly;
  for (const tool of ['Bash', 'shell', 'execute_sql', 'run_tests', 'mcp__playwright__browser_click'])
    assert.equal(sameError(tool), true, tool);
  for (const tool of ['search', 'my_tool', 'read_doc', 'bashful']) assert.equal(sameError(tool), false, tool);
  assert.equal(sameError('Bash', { tools: { Bash: { same_error_only: false } } }), false);
  assert.equal(sameError('Bash', { same_error_tools: [] }), false);
  assert.equal(sameError('lint', { same_error_tools: ['lint'] }), true);
});

test('"none" removes the general limit for a tool, and undefined in code leaves a required setting unchanged', () => {
  const { settings } = checkPolicy({ tools: { slow: { timeout: 'none' } } });
  assert.equal(resolveBreaker(settings, { tool: 'slow' }).timeoutSecs, undefined);
  assert.equal(resolveBreaker(settings, { tool: 'other' }).timeoutSecs, 30);
  const careless = { failureThreshold: undefined } as unknown as { failureThreshold: number };
  assert.equal(resolveBreaker(settings, { tool: 'x', overrides: careless }).failureThreshold, 5);
});

test('a recovery timeout above the default maximum wait raises the maximum wait', () => {
  const { settings } = checkPolicy({ circuit_breaker: { recovery_timeout: 7200 } });
  assert.equal(resolveBreaker(settings, { tool: 'x' }).recoveryMaxSecs, 7200);
});

test('tools and agents named like properties of Object.prototype get the general settings', () => {
  const { settings } = checkPolicy({});
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    assert.deepEqual(resolveBreaker(settings, { tool: name, agent: name }), settings.circuitBreaker);
    assert.deepEqual(resolveTask(settings, name), settings.task);
  }
});

test('the limits of a task override those of its agent, which override those of the policy', () => {
  const { settings } = checkPolicy({
    task: { max_tool_calls: 10, max_idle_secs: 10 },
    agents: { R: { task: { max_idle_secs: 20, max_tokens: 20 } } },
  });
  const { maxToolCalls, maxIdleSecs, maxTokens } = resolveTask(settings, 'R', { maxTokens: 30 });
  assert.deepEqual([maxToolCalls, maxIdleSecs, maxTokens], [10, 20, 30]);
  assert.equal(resolveTask(settings).maxIdleSecs, 10);
});

test('resolving settings does not change the policy', () => {
  const policy = checkPolicy({ tools: { x: { failure_threshold: 1 } } });
  resolveBreaker(policy.settings, { tool: 'x', overrides: { successThreshold: 9 } });
  assert.equal(policy.settings.circuitBreaker.successThreshold, 2);
});
