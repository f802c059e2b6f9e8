/** Every token count of Codex lands in its field. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openaiTokens } from '../../../src/agents/codex/tokens.ts';

test('OpenAI: the input includes the cached tokens already', () => {
  const usage = { input_tokens: 100, output_tokens: 7, cached_input_tokens: 60, cache_write_input_tokens: 2 };
  const expected = { inputTokens: 100, outputTokens: 7, cacheReadTokens: 60, cacheWriteTokens: 2 };
  assert.deepEqual(openaiTokens(usage), expected);
});
