/** Tokens as the four vendors count them, in one way: input with what a cache gave, output with what was thought. */

import type { Tokens } from './agent-event.ts';
import { asCount, asObject, type JsonObject } from './reader.ts';

/** Anthropic tells fresh input, what was read from the cache and what was written to it apart. */
export function anthropicTokens(usage: JsonObject): Tokens {
  return sumSeparateCounts(
    usage.input_tokens,
    usage.output_tokens,
    usage.cache_read_input_tokens,
    usage.cache_creation_input_tokens,
  );
}

/** The sums at the end of a run of Claude Code. */
export function claudeModelTokens(usage: JsonObject): Tokens {
  return sumSeparateCounts(
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadInputTokens,
    usage.cacheCreationInputTokens,
  );
}

/** OpenAI's input has the cached part in it, its output the thoughts. */
export function openaiTokens(usage: JsonObject): Tokens {
  return {
    inputTokens: asCount(usage.input_tokens),
    outputTokens: asCount(usage.output_tokens),
    cacheReadTokens: asCount(usage.cached_input_tokens),
    cacheWriteTokens: asCount(usage.cache_write_input_tokens),
  };
}

/** A message of Gemini's chat file tells its thoughts and what tools were asked apart. */
export function geminiTokens(usage: JsonObject): Tokens {
  return {
    inputTokens: asCount(usage.input) + asCount(usage.tool),
    outputTokens: asCount(usage.output) + asCount(usage.thoughts),
    cacheReadTokens: asCount(usage.cached),
    cacheWriteTokens: 0,
  };
}

/** The sums at the end of Gemini's stream hide the thoughts: they are what the total has more. */
export function geminiStats(stats: JsonObject): Tokens {
  const inputTokens = asCount(stats.input_tokens);
  return {
    inputTokens,
    outputTokens: Math.max(asCount(stats.output_tokens), asCount(stats.total_tokens) - inputTokens),
    cacheReadTokens: asCount(stats.cached),
    cacheWriteTokens: 0,
  };
}

/** opencode tells everything apart. */
export function opencodeTokens(tokens: JsonObject): Tokens {
  const cache = asObject(tokens.cache);
  const output = asCount(tokens.output) + asCount(tokens.reasoning);
  return sumSeparateCounts(tokens.input, output, cache.read, cache.write);
}

function sumSeparateCounts(fresh: unknown, output: unknown, read: unknown, written: unknown): Tokens {
  const cacheReadTokens = asCount(read);
  const cacheWriteTokens = asCount(written);
  return {
    inputTokens: asCount(fresh) + cacheReadTokens + cacheWriteTokens,
    outputTokens: asCount(output),
    cacheReadTokens,
    cacheWriteTokens,
  };
}

export function hasNoTokens({ inputTokens, outputTokens }: Tokens): boolean {
  return inputTokens === 0 && outputTokens === 0;
}
