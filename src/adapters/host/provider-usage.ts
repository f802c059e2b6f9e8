/** Reads what a model call cost out of a provider's answer, whole or streamed, as Anthropic and OpenAI write them. */

import type { Usage } from '../../ports/prices.ts';

export interface UsageReader {
  append(text: string): void;
  /** What was found, once the answer has ended. */
  end(): Usage | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** A reader of one answer. What is longer than the limit and no stream is not read. */
export function createUsageReader(lengthMax: number): UsageReader {
  let text = '';
  let isStream: boolean | undefined;
  let isTooLong = false;
  let model: string | undefined;
  let usage: Fields | undefined;

  /** A stream tells the cost in parts: the last word on each of them holds. */
  function read(json: string): void {
    if (!json.includes('"usage"')) return;
    try {
      const payload = asFields(JSON.parse(json));
      const source =
        [payload, asFields(payload.response), asFields(payload.message)].find((each) => each.usage) ?? payload;
      if (typeof source.model === 'string') model = source.model;
      const counts = Object.entries(asFields(source.usage)).filter(([, value]) => value !== null);
      usage = { ...usage, ...Object.fromEntries(counts) };
    } catch {
      // Half an event, or none of these formats: nothing is learned from it.
    }
  }

  function readLine(line: string): void {
    if (line.startsWith('data:')) read(line.slice('data:'.length));
  }

  return {
    append(chunk) {
      text += chunk;
      if (isStream === undefined && text.trim() !== '') isStream = /^\s*(event|data|id|retry|:)/.test(text);
      if (isStream) {
        const lines = text.split('\n');
        text = lines.pop() ?? '';
        lines.forEach(readLine);
      }
      if (text.length <= lengthMax) return;
      isTooLong = true;
      text = '';
    },
    end() {
      if (isStream) readLine(text);
      else if (!isTooLong) read(text);
      return usage && { ...readTokens(usage), ...(model !== undefined && { model }) };
    },
  };
}

/** Anthropic leaves the cached part out of its input; the others have it in. */
function readTokens(usage: Fields): Usage {
  const details = asFields(usage.input_tokens_details ?? usage.prompt_tokens_details);
  const isCacheSeparate = 'cache_read_input_tokens' in usage || 'cache_creation_input_tokens' in usage;
  const cacheReadTokens = asCount(usage.cache_read_input_tokens ?? details.cached_tokens);
  const cacheWriteTokens = asCount(usage.cache_creation_input_tokens ?? details.cache_write_tokens);
  const input = asCount(usage.input_tokens ?? usage.prompt_tokens);
  return {
    inputTokens: isCacheSeparate ? input + cacheReadTokens + cacheWriteTokens : input,
    outputTokens: asCount(usage.output_tokens ?? usage.completion_tokens),
    cacheReadTokens,
    cacheWriteTokens,
  };
}

function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function asCount(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0;
}
