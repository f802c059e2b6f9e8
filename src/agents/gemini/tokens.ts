/** Token counts of Gemini CLI in the form of all CLIs. */

import type { Tokens } from '../reading/agent-event.ts';
import { asCount, type JsonObject } from '../reading/reader.ts';

/** Reads the tokens of a message in a Gemini session file, which reports thoughts and tool use apart. */
export function geminiTokens(usage: JsonObject): Tokens {
  return {
    inputTokens: asCount(usage.input) + asCount(usage.tool),
    outputTokens: asCount(usage.output) + asCount(usage.thoughts),
    cacheReadTokens: asCount(usage.cached),
    cacheWriteTokens: 0,
  };
}

/** Reads the sums at the end of Gemini's stream. Thoughts are the part of the total beyond input and output. */
export function geminiStats(stats: JsonObject): Tokens {
  const inputTokens = asCount(stats.input_tokens);
  return {
    inputTokens,
    outputTokens: Math.max(asCount(stats.output_tokens), asCount(stats.total_tokens) - inputTokens),
    cacheReadTokens: asCount(stats.cached),
    cacheWriteTokens: 0,
  };
}
