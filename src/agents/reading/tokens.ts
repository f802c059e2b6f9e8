/** Tokens as the four vendors count them, in one way: input with what a cache gave, output with what was thought. */

import type { Tokens } from './agent-event.ts';
import { countOf, type Fields, fieldsOf } from './reader.ts';

/** Anthropic tells fresh input, what was read from the cache and what was written to it apart. */
export function anthropicTokens(usage: Fields): Tokens {
  return apart(
    usage.input_tokens,
    usage.output_tokens,
    usage.cache_read_input_tokens,
    usage.cache_creation_input_tokens,
  );
}

/** The sums at the end of a run of Claude Code. */
export function claudeModelTokens(usage: Fields): Tokens {
  return apart(usage.inputTokens, usage.outputTokens, usage.cacheReadInputTokens, usage.cacheCreationInputTokens);
}

/** OpenAI's input has the cached part in it, its output the thoughts. */
export function openaiTokens(usage: Fields): Tokens {
  return {
    inputTokens: countOf(usage.input_tokens),
    outputTokens: countOf(usage.output_tokens),
    cacheReadTokens: countOf(usage.cached_input_tokens),
    cacheWriteTokens: countOf(usage.cache_write_input_tokens),
  };
}

/** A message of Gemini's chat file tells its thoughts and what tools were asked apart. */
export function geminiTokens(usage: Fields): Tokens {
  return {
    inputTokens: countOf(usage.input) + countOf(usage.tool),
    outputTokens: countOf(usage.output) + countOf(usage.thoughts),
    cacheReadTokens: countOf(usage.cached),
    cacheWriteTokens: 0,
  };
}

/** The sums at the end of Gemini's stream hide the thoughts: they are what the total has more. */
export function geminiStats(stats: Fields): Tokens {
  const inputTokens = countOf(stats.input_tokens);
  return {
    inputTokens,
    outputTokens: Math.max(countOf(stats.output_tokens), countOf(stats.total_tokens) - inputTokens),
    cacheReadTokens: countOf(stats.cached),
    cacheWriteTokens: 0,
  };
}

/** opencode tells everything apart. */
export function opencodeTokens(tokens: Fields): Tokens {
  const cache = fieldsOf(tokens.cache);
  const output = countOf(tokens.output) + countOf(tokens.reasoning);
  return apart(tokens.input, output, cache.read, cache.write);
}

function apart(fresh: unknown, output: unknown, read: unknown, written: unknown): Tokens {
  const cacheReadTokens = countOf(read);
  const cacheWriteTokens = countOf(written);
  return {
    inputTokens: countOf(fresh) + cacheReadTokens + cacheWriteTokens,
    outputTokens: countOf(output),
    cacheReadTokens,
    cacheWriteTokens,
  };
}

export function isNothing({ inputTokens, outputTokens }: Tokens): boolean {
  return inputTokens === 0 && outputTokens === 0;
}
