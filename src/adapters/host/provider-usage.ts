/** Reads the token usage from a response of Anthropic or OpenAI, whole or streamed. */

import { readAnyTokens } from '../../core/prices/any-tokens.ts';
import type { Usage } from '../../ports/prices.ts';

export interface UsageReader {
  append(text: string): void;
  /** Returns the usage at the end of the response. */
  end(): Usage | undefined;
  /** The characters that the model wrote in a stream, if its final usage did not come; undefined if it came. */
  uncountedLength(): number | undefined;
}

/** The texts in the events of a stream: answers, reasoning and arguments of calls. */
const writtenText = /"(?:content|text|arguments|partial_json|thinking|reasoning|delta)":\s*"((?:[^"\\]|\\.)*)"/g;

const noTokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

type Fields = Readonly<Record<string, unknown>>;

/** Creates a reader of one response. It ignores a response that is not a stream and longer than the limit. */
export function createUsageReader(lengthMax: number): UsageReader {
  let text = '';
  let isStream: boolean | undefined;
  let isTooLong = false;
  let model: string | undefined;
  let usage: Fields | undefined;
  let writtenLength = 0;
  let hasFinalUsage = false;

  /** Reads one JSON text. A stream reports the usage in parts, and the last value of each count is used. */
  function read(json: string): void {
    if (!json.includes('"usage"')) return;
    try {
      const payload = asFields(JSON.parse(json));
      const source =
        [payload, asFields(payload.response), asFields(payload.message)].find((each) => each.usage) ?? payload;
      if (typeof source.model === 'string') model = source.model;
      const counts = Object.entries(asFields(source.usage)).filter(([, value]) => value !== null);
      usage = { ...usage, ...Object.fromEntries(counts) };
      // Anthropic reports a first count with the message, and the final one at its end.
      hasFinalUsage ||= counts.length > 0 && payload.type !== 'message_start';
    } catch {
      // An incomplete event or an unknown format is ignored.
    }
  }

  function readLine(line: string): void {
    if (!line.startsWith('data:')) return;
    for (const [, text = ''] of line.matchAll(writtenText)) writtenLength += text.length;
    read(line.slice('data:'.length));
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
      return usage && { ...(readAnyTokens(usage) ?? noTokens), ...(model !== undefined && { model }) };
    },
    uncountedLength: () => (isStream && !hasFinalUsage ? writtenLength : undefined),
  };
}

function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
