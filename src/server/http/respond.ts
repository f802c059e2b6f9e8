/** Writes answers: JSON, text or an error, always with the headers that keep browsers from using them elsewhere. */

import type { ServerResponse } from 'node:http';
import type { HttpError } from '../../http/http-error.ts';
import { toHttpError } from './to-http-error.ts';

/** The headers of every answer. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** An answer that is not JSON. */
export interface TextAnswer {
  readonly media: string;
  readonly text: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes an answer of plain text or of another media type. */
export function textAnswer(media: string, text: string, options: Omit<TextAnswer, 'media' | 'text'> = {}): TextAnswer {
  const answer: TextAnswer = { media, text, ...options };
  textAnswers.add(answer);
  return answer;
}

/** Marks the answers that `textAnswer` made: data from the store cannot look like one. */
const textAnswers = new WeakSet<object>();

/** Writes the value that a route returned. */
export function sendValue(response: ServerResponse, value: unknown): void {
  if (typeof value === 'object' && value !== null && textAnswers.has(value)) {
    const { media, text, status = 200, headers = {} } = value as TextAnswer;
    sendText(response, status, media, text, headers);
  } else sendText(response, 200, 'application/json; charset=utf-8', `${formatJson(value)}\n`);
}

/** Writes an error as `{ "error": { "code", "message" } }`. */
export function sendError(response: ServerResponse, thrown: unknown): void {
  const error = toHttpError(thrown);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = formatJson({ error: { code: error.code, message: error.message } });
  sendText(response, error.status, 'application/json; charset=utf-8', `${body}\n`, errorHeaders(error));
}

function errorHeaders({ status, retryAfterSecs }: HttpError): Readonly<Record<string, string>> {
  return {
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(retryAfterSecs !== undefined && { 'retry-after': String(retryAfterSecs) }),
    // A body that was not read would be taken for the next request.
    ...((status === 413 || status === 400) && { connection: 'close' }),
  };
}

function sendText(
  response: ServerResponse,
  status: number,
  media: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const length = String(Buffer.byteLength(text));
  response.writeHead(status, { ...securityHeaders, 'content-type': media, 'content-length': length, ...headers });
  response.end(text);
}

/** Characters that do something in a terminal or a page, and are no syntax of JSON. */
const activeCharacters = /[<>&\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Formats a value as JSON in which no text is active in a terminal or a page. */
export function formatJson(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replaceAll(
    activeCharacters,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
