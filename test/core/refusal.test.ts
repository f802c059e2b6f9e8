import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRefused, type Refusal, RefusedError, refusalOf, refused } from '../../src/core/refusal.ts';

const refusal: Refusal = {
  code: 'tool_call_limit',
  control: 'budget',
  kind: 'halt',
  counters: { actual: 51, limit: 50 },
  message: 'enough',
  remediation: 'stop',
  explanation: '51 of 50',
  name: 'search',
};

test('a refused value has exactly five keys, and is recognised by identity, not by shape', () => {
  const value = refused(refusal, 'agent', 'session');
  assert.deepEqual(value, {
    error: 'enough',
    tool_call_limit: true,
    agent_name: 'agent',
    session_id: 'session',
    remediation: 'stop',
  });
  assert.equal(isRefused(value), true);
  assert.equal(refusalOf(value), refusal);
  assert.equal(isRefused({ ...value }), false);
  assert.equal(refusalOf({ ...value }), undefined);
  for (const other of [null, undefined, 'text', 5]) {
    assert.equal(isRefused(other), false);
    assert.equal(refusalOf(other), undefined);
  }
});

test('a RefusedError has no stack by default, and Error.stackTraceLimit stays unchanged', () => {
  const limit = Error.stackTraceLimit;
  const error = new RefusedError(refusal);
  assert.deepEqual([error.name, error.code, error.message], ['RefusedError', 'tool_call_limit', 'enough']);
  assert.equal(refusalOf(error), refusal);
  assert.equal(isRefused(error), false);
  assert.doesNotMatch(error.stack ?? '', /\n\s+at /);
  assert.match(new RefusedError(refusal, true).stack ?? '', /\n\s+at /);
  assert.equal(Error.stackTraceLimit, limit);
});

test('the error of an open circuit has the name and the message that the agent prompt describes', () => {
  const error = new RefusedError({ ...refusal, code: 'circuit_open' });
  assert.equal(error.name, 'CircuitBreakerOpen');
  assert.equal(error.message, 'Error: CircuitBreakerOpen (System Paused): enough');
});
