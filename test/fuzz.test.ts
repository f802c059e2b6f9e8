import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzz } from './fuzz.ts';

test('200,000 random events cause no throw, no invalid number and no growth of the state', (context) => {
  const { reached, stateSize } = fuzz(200_000, 1);
  context.diagnostic(`the state had at most ${stateSize} characters`);
  const wanted = [
    'circuit_open',
    'concurrency_limit',
    'delegation_limit',
    'denial_limit',
    'duration_limit',
    'idle_timeout',
    'output_loop',
    'rule_abort',
    'rule_declined',
    'rule_throttled',
    'storm',
    'token_limit',
    'token_spend_limit',
    'tool_call_limit',
    'tool_loop',
  ];
  assert.deepEqual([...reached].sort(), wanted);
});
