/** Every token count of opencode lands in its field. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { opencodeTokens } from '../../../src/agents/opencode/tokens.ts';

test('opencode: every count is reported apart, and reasoning is output', () => {
  const tokens = { input: 100, output: 7, reasoning: 3, cache: { read: 10, write: 1 } };
  const expected = { inputTokens: 111, outputTokens: 10, cacheReadTokens: 10, cacheWriteTokens: 1 };
  assert.deepEqual(opencodeTokens(tokens), expected);
});
