/** Every token count of Gemini CLI lands in its field. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { geminiStats, geminiTokens } from '../../../src/agents/gemini/tokens.ts';

test('a session file of Gemini: tool tokens are input, thoughts are output, cached tokens are kept apart', () => {
  const tokens = { input: 100, tool: 5, output: 7, thoughts: 3, cached: 60 };
  const expected = { inputTokens: 105, outputTokens: 10, cacheReadTokens: 60, cacheWriteTokens: 0 };
  assert.deepEqual(geminiTokens(tokens), expected);
});

test('the stream of Gemini: thoughts are the part of the total that neither input nor output counts', () => {
  const stats = { input_tokens: 100, output_tokens: 7, total_tokens: 110, cached: 60 };
  const expected = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 60, cacheWriteTokens: 0 };
  assert.deepEqual(geminiStats(stats), expected);
});
