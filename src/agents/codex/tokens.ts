/** Token counts of Codex in the form of all CLIs. */

import type { Tokens } from '../reading/agent-event.ts';
import { asCount, type JsonObject } from '../reading/reader.ts';

/** Reads the usage of an OpenAI response: its input includes the cached tokens, its output the thoughts. */
export function openaiTokens(usage: JsonObject): Tokens {
  return {
    inputTokens: asCount(usage.input_tokens),
    outputTokens: asCount(usage.output_tokens),
    cacheReadTokens: asCount(usage.cached_input_tokens),
    cacheWriteTokens: asCount(usage.cache_write_input_tokens),
  };
}
