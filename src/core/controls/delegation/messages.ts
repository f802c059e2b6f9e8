/** What people read when a worker fails and when its limit is reached. Every number in it is the effective one. */

import { nameLengthMax, reasonLengthMax } from '../../limits.ts';

/** For the user, once a worker's limit is reached; the hint says what may be behind it. */
export function userMessage(worker: string, limit: number, hint?: string): string {
  return (
    `⚠️ Safety limit reached: ${shortName(worker)} has failed ${limit}+ times. ${hint ? `${hint} ` : ''}` +
    'I cannot complete this request with current tools. Please try a different approach or contact support.'
  );
}

/** The same in a line: the hint where there is one, else what to do. */
export function shortMessage(hint?: string): string {
  return `Safety limit reached. ${hint || 'Try different approach.'}`;
}

/** The two log lines of one failed delegation. */
export function failureLines(worker: string, attempt: number, limit: number, reason: string): [string, string] {
  return [
    `⚠️  DELEGATION FAILURE: ${shortName(worker)} failed (attempt #${attempt}, limit: ${limit})`,
    `   Reason: ${toOneLine(reason, reasonLengthMax)}`,
  ];
}

/** The log line of a reached limit. */
export function tripLine(worker: string, count: number, limit: number): string {
  return `🔴 ${blockReason(worker, count, limit)}. Stopping delegation.`;
}

/** Why a worker may not be delegated to, for code. */
export function blockReason(worker: string, count: number, limit: number): string {
  return `CIRCUIT BREAKER: ${shortName(worker)} has failed ${count} times (limit: ${limit})`;
}

/** Whether a text is one of these: they say "cannot" themselves, and must not be booked as somebody's failure. */
export function isOwnMessage(text: string): boolean {
  return /^[^\p{L}\p{N}]{0,8}(?:Safety limit reached[:.]|CIRCUIT BREAKER: |DELEGATION FAILURE: )/u.test(text);
}

/** The beginning of a text as one line, without control characters that would redraw a terminal. */
export function toOneLine(text: string, lengthMax: number): string {
  return text
    .slice(0, lengthMax)
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

function shortName(worker: string): string {
  return toOneLine(worker, nameLengthMax);
}
