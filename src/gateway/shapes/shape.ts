/**
 * The shape of a provider's API: which paths are model calls, what a request asks for, what an answer costs, how a
 * stream ends well, and how a refusal is said. A further API is one file of this shape and one line in `index.ts`.
 */

import { readAnyTokens, type TokenCounts } from '../../core/prices/any-tokens.ts';
import type { LongEvent } from './long-event.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** The request of a model call, as far as the gateway must know it. */
export interface RequestFacts {
  readonly model: string;
  readonly isStream: boolean;
  /** Answers that the request asks for at once; each of them may be as long as the body says. 1 if absent. */
  readonly answers?: number | undefined;
  /** Whether the provider goes on without the client, so that dropping the answer saves nothing. */
  readonly runsOn?: boolean;
  /** The most tokens that all answers together may have, and every place where the body limits one of them. */
  readonly maxOutput?: { readonly tokens: number; readonly paths: readonly (readonly string[])[] } | undefined;
  /** The tokens of the answer that the request itself needs, e.g. for a fixed length of reasoning. */
  readonly minOutput?: number | undefined;
  /** Where a limit of the answer can be written, if the request has none. */
  readonly outputPath?: readonly string[] | undefined;
  /** Whether a stream tells its usage only because the request asks for it. */
  readonly asksForUsage?: boolean;
  /** Whether the request offers tools; a request without tools is a side request of the client, such as a title. */
  readonly hasTools: boolean;
}

/** A call of a tool in the history of a request. */
export interface HistoryCall {
  /** The id of the provider; absent if the API has none. */
  readonly id?: string | undefined;
  readonly name: string;
  readonly input: unknown;
}

/** A part of the history that a request repeats. */
export type HistoryItem =
  | { readonly type: 'user'; readonly text: string }
  | { readonly type: 'assistant'; readonly text: string; readonly calls: readonly HistoryCall[] }
  /** A result belongs to the call of its id, or else to the oldest open call of its name. */
  | {
      readonly type: 'result';
      readonly id?: string | undefined;
      readonly name?: string | undefined;
      readonly output: unknown;
      /** Absent if the API does not say whether the call failed. */
      readonly ok?: boolean | undefined;
      /** The number of its message in the request. */
      readonly at: number;
    };

/** A text that is written into the body of a request. */
export interface BodyInsert {
  /** The list, item or text at which it is written. */
  readonly path: readonly (string | number)[];
  /** A further item of a list, an item behind another one, or the end of a text. */
  readonly as: 'last-item' | 'next-item' | 'end-of-text';
  /** The item or the text. */
  readonly value: unknown;
}

/** One answer of the gateway itself. */
export interface OwnAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Reads one answer while it passes, and can end it. */
export interface AnswerReader {
  /** Reads the data of one event of a stream. */
  readEvent(data: string): void;
  /** Reads what is known of an event that passed in parts. */
  readLongEvent(event: LongEvent): void;
  /** Reads a whole answer in JSON. */
  readWhole(answer: Fields): void;
  /** The counts that the provider reported so far, in its own spelling. */
  readonly usage: Fields | undefined;
  /** Whether the reported counts are those of the whole answer. */
  readonly isUsageFinal: boolean;
  /** Characters that the model wrote: texts, reasoning and arguments of calls. */
  readonly writtenLength: number;
  /** The model that answers, if the answer says so. */
  readonly model: string | undefined;
  /** Whether the last event of a complete stream has passed. */
  readonly isEnded: boolean;
  /** The class of an error that the provider reported inside the stream. */
  readonly error: string | undefined;
  /**
   * The events that end the stream here with a text; empty if it has ended. Counts that the provider has not reported
   * are those that the gateway has metered.
   */
  endStream(text: string, metered?: MeteredTokens): string;
}

/** What a call has used when its stream is ended. */
export type MeteredTokens = Pick<TokenCounts, 'inputTokens' | 'outputTokens'>;

export const nothingMetered: MeteredTokens = { inputTokens: 0, outputTokens: 0 };

/** One API. */
export interface ApiShape {
  readonly name: string;
  /** Whose API it is; the upstream is configured by this name. */
  readonly provider: 'anthropic' | 'openai' | 'gemini';
  /** Whether every complete stream has a last event that says so. */
  readonly alwaysEnds: boolean;
  /** Whether a path, without its query and with all letters decoded, is a model call of this API, in any case. */
  isModelCall(path: string): boolean;
  /** Reads a request by its path, with all letters decoded, its query, and its body. */
  readRequest(url: string, body: Fields): RequestFacts;
  /** The conversation that a request repeats, in order. */
  readHistory(body: Fields): readonly HistoryItem[];
  /** Where a text for the model is written behind the result at a place of the history; undefined if it cannot be. */
  placeHint(body: Fields, at: number, text: string): BodyInsert | undefined;
  createReader(request: RequestFacts): AnswerReader;
  /** What a request says so that the model calls no tools. */
  readonly noTools: { readonly path: readonly string[]; readonly value: unknown };
  /** A refusal that real clients do not retry; with a status, the error that the API has for it. */
  refuse(message: string, code: string, status?: number): OwnAnswer;
  /** A complete answer with one text and no call. */
  close(text: string, request: RequestFacts): OwnAnswer;
}

/** Formats an event of a stream; `type` is absent where the API has events without names. */
export function formatEvent(data: unknown, type?: string): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${type === undefined ? '' : `event: ${type}\n`}data: ${text}\n\n`;
}

export const jsonType = 'application/json';
export const streamType = 'text/event-stream; charset=utf-8';

/** The fields of a value; none if it is no object. */
export function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** The items of a value; none if it is no array. */
export function asItems(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The length of a text in bytes, since letters of other scripts have more tokens; 0 for any other value. */
export function countLetters(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0;
}

/** The length of all texts in a value. */
export function countAllLetters(value: unknown, depth = 0): number {
  if (typeof value !== 'object' || value === null || depth > 12) return countLetters(value);
  return Object.values(value).reduce((sum: number, each) => sum + countAllLetters(each, depth + 1), 0);
}

/** A text, or undefined for any other value. */
export function readText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Parses JSON of a provider; no fields if it is not valid. */
export function parseFields(text: string): Fields {
  try {
    return asFields(JSON.parse(text));
  } catch {
    return {};
  }
}

/** The text of a content: a text, or a list of parts with texts. */
export function joinText(content: unknown): string {
  if (typeof content === 'string') return content;
  return asItems(content)
    .map((part) => readText(asFields(part).text) ?? '')
    .join('');
}

/** Arguments that an API writes as a text: their value, or the text if it is no JSON. */
export function readWrittenInput(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The limit of the answer that a body has under some paths; of several ones the highest, since a provider reads one.
 */
export function findMaxOutput(
  body: Fields,
  paths: readonly (readonly string[])[],
  answers = 1,
): RequestFacts['maxOutput'] {
  const limits = paths.flatMap((path) => {
    const value = path.reduce<unknown>((fields, name) => asFields(fields)[name], body);
    return typeof value === 'number' && value > 0 ? [{ path, value }] : [];
  });
  if (limits.length === 0) return undefined;
  const tokens = Math.max(...limits.map(({ value }) => value)) * answers;
  return { tokens, paths: limits.map(({ path }) => path) };
}

/** How many answers a request asks for: the largest of some counts, at least 1. */
export function countAnswers(...counts: readonly unknown[]): number {
  return Math.max(1, ...counts.filter((each) => typeof each === 'number'));
}

/** Adds counts to earlier ones: a stream reports them in parts, and the last value of each holds. */
export function mergeCounts(before: Fields | undefined, counts: unknown): Fields | undefined {
  const given = Object.entries(asFields(counts)).filter(([, value]) => value !== null && value !== undefined);
  return given.length === 0 ? before : { ...before, ...Object.fromEntries(given) };
}

let lastUsage: Fields | undefined;
let lastCounts: TokenCounts | undefined;

/** The tokens of a usage that an answer has reported. The last one is kept: it is asked for several times in a row. */
export function readCounts(usage: Fields | undefined): TokenCounts | undefined {
  if (usage !== lastUsage) {
    lastCounts = usage && readAnyTokens(usage);
    lastUsage = usage;
  }
  return lastCounts;
}

/** Whether counts say anything: some providers report zeros, or values that are no numbers. */
export function hasCounts(usage: Fields | undefined): boolean {
  return readCounts(usage) !== undefined;
}

/** The type of an error of OpenAI's APIs by its status. */
export function nameOpenAiError(status: number): string {
  if (status === 402) return 'insufficient_quota';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}
