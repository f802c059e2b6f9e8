/** Answers of the gateway itself: refusals in the shape of the API, and errors of requests that reach no upstream. */

import type { ServerResponse } from 'node:http';
import { endSentence } from '../core/messages/model-text.ts';
import type { Refusal } from '../core/refusal.ts';
import type { HttpError } from '../http/http-error.ts';
import { briefWaitMs } from './limits.ts';
import type { ApiShape, OwnAnswer, RequestFacts } from './shapes/shape.ts';
import { jsonType } from './shapes/shape.ts';

/** Sends an answer, unless the client has begun to get another one. */
export function sendAnswer(
  response: ServerResponse,
  { status, contentType, body }: OwnAnswer,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...headers, 'content-type': contentType, 'content-length': bytes.length });
  response.end(bytes);
}

/** Sends an error of the gateway for a request that is no call of a known API. */
export function sendGatewayError(response: ServerResponse, status: number, code: string, message: string): void {
  const body = JSON.stringify({ error: { type: 'switchgear_error', code, message } });
  sendAnswer(
    response,
    { status, contentType: jsonType, body },
    { 'x-should-retry': 'false', 'x-switchgear-code': code },
  );
}

/** Sends an error of a request, in the shape of its API if it has one. Only an error with a time heals in time. */
export function sendRequestError(response: ServerResponse, shape: ApiShape | undefined, error: HttpError): void {
  const { status, code, message, retryAfterSecs } = error;
  if (shape === undefined) {
    sendGatewayError(response, status, code, message);
    return;
  }
  const answer = shape.refuse(`Switchgear: ${message.replace(/^Switchgear: /, '')}`, code, status);
  const again = retryAfterSecs === undefined ? { 'x-should-retry': 'false' } : { 'retry-after': `${retryAfterSecs}` };
  sendAnswer(response, answer, { ...again, 'x-switchgear-code': code });
}

/** Sends the error of an upstream that did not answer, after which the client may try again. */
export function sendUnreachable(response: ServerResponse, shape: ApiShape, host: string, error: unknown): void {
  const code = 'upstream_unreachable';
  const message = `Switchgear: ${host} cannot be reached: ${describeError(error)}`;
  sendAnswer(response, shape.refuse(message, code, 502), { 'x-switchgear-code': code });
}

/**
 * Sends the refusal of a call. A refusal that heals by itself, of an open circuit or within a moment, has the status
 * 503 and a time; any other one has a status that clients do not retry.
 */
export function sendRefusal(response: ServerResponse, shape: ApiShape, refusal: Refusal, nowMs: number): void {
  const { code, retryAtMs, kind } = refusal;
  const message = describeRefusal(refusal);
  const isBrief = retryAtMs !== undefined && retryAtMs - nowMs <= briefWaitMs;
  if (kind === 'deny' && (refusal.control === 'breaker' || isBrief)) {
    const secs = Math.max(1, Math.ceil(((retryAtMs ?? nowMs) - nowMs) / 1000));
    sendAnswer(response, shape.refuse(message, code, 503), { 'retry-after': `${secs}`, 'x-switchgear-code': code });
  } else sendAnswer(response, shape.refuse(message, code), { 'x-should-retry': 'false', 'x-switchgear-code': code });
}

/** Sends a complete answer that ends the work of an agent: one text, and no call. */
export function sendClosing(response: ServerResponse, shape: ApiShape, halt: Refusal, facts: RequestFacts): void {
  const headers = { 'x-should-retry': 'false', 'x-switchgear-code': halt.code };
  sendAnswer(response, shape.close(`Halted by Switchgear: ${endSentence(halt.explanation)}`, facts), headers);
}

/** The words of a refusal, as a person and a model read them. */
export function describeRefusal({ explanation, remediation }: Refusal): string {
  return `Switchgear: ${endSentence(explanation)} ${remediation}`;
}

function describeError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message ?? String(error);
}
