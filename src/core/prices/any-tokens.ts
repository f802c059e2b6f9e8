/** Reads token counts in the spellings of all providers. */

import { readCount } from '../read-count.ts';

/** The counts of one model call. Input includes cache reads and writes, output includes reasoning. */
export interface TokenCounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** The part of the cache writes that is kept for an hour; absent if there is none. */
  readonly cacheWrite1hTokens?: number;
}

type Fields = Readonly<Record<string, unknown>>;

const inputNames = (
  'input_tokens inputTokens prompt_tokens promptTokens promptTokenCount prompt_token_count inputTokenCount tokensIn ' +
  'tokens_in input prompt'
).split(' ');
const outputNames = (
  'output_tokens outputTokens completion_tokens completionTokens candidatesTokenCount candidates_token_count ' +
  'outputTokenCount tokensOut tokens_out output completion'
).split(' ');
/** Results of the provider's own tools that are not part of the input. */
const toolInputNames = ['toolUsePromptTokenCount', 'tool_use_prompt_token_count'];
/** Thoughts that are not part of the output. */
const thoughtNames = ['thoughtsTokenCount', 'thoughts_token_count'];
const totalNames = ['total_tokens', 'totalTokens', 'totalTokenCount', 'total_token_count', 'tokens'];
/** Cached input that is not part of the input, and that is. */
const separateReadNames = ['cache_read_input_tokens', 'cacheReadInputTokens', 'cacheRead', 'cache_read'];
const separateWriteNames = ['cache_creation_input_tokens', 'cacheCreationInputTokens', 'cacheWrite', 'cache_write'];
const hourWriteNames = ['ephemeral_1h_input_tokens'];
const includedReadNames = (
  'cacheReadTokens cache_read_tokens cached_input_tokens cachedInputTokens cached_tokens cachedTokens ' +
  'cachedContentTokenCount cached_content_token_count'
).split(' ');
const includedWriteNames = ['cacheWriteTokens', 'cache_write_tokens', 'cache_write_input_tokens'];

/** The tokens of a usage object; undefined if it has no count that can be read. */
export function readAnyTokens(usage: Fields): TokenCounts | undefined {
  const output = pick(usage, outputNames) + pick(usage, thoughtNames);
  const input = pick(usage, inputNames) + pick(usage, toolInputNames);
  const separateRead = pick(usage, separateReadNames);
  const separateWrite = pick(usage, separateWriteNames);
  const hourWrite = Math.min(separateWrite, pick(asFields(usage.cache_creation), hourWriteNames));
  // Where only the sum is known, it is priced as output, the dearer of both.
  const tokens =
    separateRead + separateWrite > 0
      ? {
          inputTokens: input + separateRead + separateWrite,
          outputTokens: output,
          cacheReadTokens: separateRead,
          cacheWriteTokens: separateWrite,
          ...(hourWrite > 0 && { cacheWrite1hTokens: hourWrite }),
        }
      : {
          inputTokens: input,
          outputTokens: input + output > 0 ? output : pick(usage, totalNames),
          cacheReadTokens: pick(withDetails(usage), includedReadNames),
          cacheWriteTokens: pick(withDetails(usage), includedWriteNames),
        };
  return tokens.inputTokens + tokens.outputTokens > 0 ? tokens : undefined;
}

function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function withDetails(usage: Fields): Fields {
  const details = usage.input_tokens_details ?? usage.prompt_tokens_details ?? usage.inputTokenDetails;
  return { ...(typeof details === 'object' ? details : {}), ...usage };
}

/** The first count under one of the names. */
function pick(fields: Fields, names: readonly string[]): number {
  for (const name of names) {
    const count = readCount(fields[name]) ?? 0;
    if (count > 0) return count;
  }
  return 0;
}
