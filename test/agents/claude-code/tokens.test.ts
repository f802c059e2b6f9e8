/** Every token count of Claude Code lands in its field. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claudeModelTokens } from '../../../src/agents/claude-code/tokens.ts';
import { anthropicTokens } from '../../../src/agents/reading/tokens.ts';

test('Anthropic: cached tokens are added to the input, and kept apart', () => {
  const expected = { inputTokens: 111, outputTokens: 7, cacheReadTokens: 10, cacheWriteTokens: 1 };
  const usage = { input_tokens: 100, output_tokens: 7, cache_read_input_tokens: 10, cache_creation_input_tokens: 1 };
  assert.deepEqual(anthropicTokens(usage), expected);
  const sums = { inputTokens: 100, outputTokens: 7, cacheReadInputTokens: 10, cacheCreationInputTokens: 1 };
  assert.deepEqual(claudeModelTokens(sums), expected);
});
