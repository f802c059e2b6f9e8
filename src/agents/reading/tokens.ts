/** Token counts in one form: input includes cached tokens, output thoughts. The folder of each CLI reads its own. */

import type { Tokens } from './agent-event.ts';
import { asCount, type JsonObject } from './reader.ts';

/** Reads the usage of an Anthropic message, which reports fresh, cache-read and cache-write input apart. */
export function anthropicTokens(usage: JsonObject): Tokens {
  const tokens = sumSeparateCounts(
    usage.input_tokens,
    usage.output_tokens,
    usage.cache_read_input_tokens,
    usage.cache_creation_input_tokens,
  );
  const hourWrites = asCount((usage.cache_creation as JsonObject | null | undefined)?.ephemeral_1h_input_tokens);
  return hourWrites === 0 ? tokens : { ...tokens, cacheWrite1hTokens: Math.min(hourWrites, tokens.cacheWriteTokens) };
}

/** Sums counts that are reported apart: fresh, cache-read and cache-write input. */
export function sumSeparateCounts(fresh: unknown, output: unknown, read: unknown, written: unknown): Tokens {
  const cacheReadTokens = asCount(read);
  const cacheWriteTokens = asCount(written);
  return {
    inputTokens: asCount(fresh) + cacheReadTokens + cacheWriteTokens,
    outputTokens: asCount(output),
    cacheReadTokens,
    cacheWriteTokens,
  };
}

/** Whether nothing was used. */
export function hasNoTokens({ inputTokens, outputTokens }: Tokens): boolean {
  return inputTokens === 0 && outputTokens === 0;
}
