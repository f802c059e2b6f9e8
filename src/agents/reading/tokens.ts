/** Token counts of every vendor in one form: input includes cached tokens, output includes thoughts. */

import type { Tokens } from './agent-event.ts';
import { asCount, asObject, type JsonObject } from './reader.ts';

/** Reads the usage of an Anthropic message, which reports fresh, cache-read and cache-write input apart. */
export function anthropicTokens(usage: JsonObject): Tokens {
  return sumSeparateCounts(
    usage.input_tokens,
    usage.output_tokens,
    usage.cache_read_input_tokens,
    usage.cache_creation_input_tokens,
  );
}

/** Reads the sums that Claude Code prints at the end of a run. */
export function claudeModelTokens(usage: JsonObject): Tokens {
  return sumSeparateCounts(
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadInputTokens,
    usage.cacheCreationInputTokens,
  );
}

/** Reads the usage of an OpenAI response: its input includes the cached tokens, its output the thoughts. */
export function openaiTokens(usage: JsonObject): Tokens {
  return {
    inputTokens: asCount(usage.input_tokens),
    outputTokens: asCount(usage.output_tokens),
    cacheReadTokens: asCount(usage.cached_input_tokens),
    cacheWriteTokens: asCount(usage.cache_write_input_tokens),
  };
}

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

/** Reads the tokens of an opencode message, which reports every count apart. */
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
