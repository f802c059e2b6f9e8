import assert from 'node:assert/strict';
import { test } from 'node:test';
import { delegationPolicyPrompt, protocolPrompt } from '../../../src/core/messages/prompts.ts';

test('the protocol prompt states the error, four steps, three questions and the configured wait', () => {
  const prompt = protocolPrompt({ recoveryTimeoutSecs: 45 });
  assert.match(prompt, /^## \u{1f6e1}\ufe0f CIRCUIT BREAKER PROTOCOL$/mu);
  assert.ok(prompt.includes('`Error: CircuitBreakerOpen (System Paused)`'));
  const steps = [
    /^1\. \u{1f6d1} STOP immediately/mu,
    /^2\. \u{1f552} WAIT or SWITCH/mu,
    /^3\. \u{1f575}\ufe0f ANALYZE/mu,
  ];
  for (const step of steps) assert.match(prompt, step);
  assert.equal(prompt.match(/^ {3}- .*\?$/gm)?.length, 3);
  assert.match(
    prompt,
    /^4\. \u{1f5e3}\ufe0f ASK HUMAN: "I've hit a circuit breaker on \[Tool\/Service\]\. Waiting 45s\. /mu,
  );
  assert.ok(!prompt.includes('30s'));
});

test('the protocol prompt accepts the full settings, and states no wait for manual recovery', () => {
  assert.match(protocolPrompt({ circuitBreaker: { recoveryTimeoutSecs: 60 } }), /Waiting 60s\./);
  const manual = protocolPrompt({ recoveryTimeoutSecs: 60, recovery: 'manual' });
  assert.match(manual, /Waiting for a manual reset\./);
  assert.ok(!manual.includes('60s'));
});

test('the delegation prompt states the configured limit', () => {
  const prompt = delegationPolicyPrompt(3);
  assert.match(prompt, /^\u26a0\ufe0f CIRCUIT BREAKER POLICY \(SYSTEM-WIDE\):$/m);
  assert.match(prompt, /^- Maximum of 3 failed delegations per worker$/m);
  assert.match(prompt, /^- After 3 failures, circuit breaker trips$/m);
  assert.match(prompt, /^TERMINATE when circuit breaker trips\.$/m);
  assert.match(delegationPolicyPrompt(1), /^- After 1 failure, /m);
});
