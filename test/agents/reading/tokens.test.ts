/** Every token count of every CLI lands in its field. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  anthropicTokens,
  claudeModelTokens,
  geminiStats,
  geminiTokens,
  openaiTokens,
  opencodeTokens,
} from '../../../src/agents/reading/tokens.ts';

test('Anthropic: cached tokens are added to the input, and kept apart', () => {
  const expected = { inputTokens: 111, outputTokens: 7, cacheReadTokens: 10, cacheWriteTokens: 1 };
  const usage = { input_tokens: 100, output_tokens: 7, cache_read_input_tokens: 10, cache_creation_input_tokens: 1 };
  assert.deepEqual(anthropicTokens(usage), expected);
  const sums = { inputTokens: 100, outputTokens: 7, cacheReadInputTokens: 10, cacheCreationInputTokens: 1 };
  assert.deepEqual(claudeModelTokens(sums), expected);
});

test('OpenAI: the input includes the cached tokens already', () => {
  const usage = { input_tokens: 100, output_tokens: 7, cached_input_tokens: 60, cache_write_input_tokens: 2 };
  const expected = { inputTokens: 100, outputTokens: 7, cacheReadTokens: 60, cacheWriteTokens: 2 };
  assert.deepEqual(openaiTokens(usage), expected);
});

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

test('opencode: every count is reported apart, and reasoning is output', () => {
  const tokens = { input: 100, output: 7, reasoning: 3, cache: { read: 10, write: 1 } };
  const expected = { inputTokens: 111, outputTokens: 10, cacheReadTokens: 10, cacheWriteTokens: 1 };
  assert.deepEqual(opencodeTokens(tokens), expected);
});
