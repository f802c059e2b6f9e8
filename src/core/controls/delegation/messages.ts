/** The messages about failing workers, for people and logs. Every number is the effective one. */

import { cleanLine, sliceWhole } from '../../foreign-text.ts';
import { nameLengthMax, reasonLengthMax } from '../../limits.ts';

/** The message for the user when a worker reaches its limit; the hint names a probable cause. */
export function userMessage(worker: string, limit: number, hint?: string): string {
  return (
    `⚠️ Safety limit reached: ${shortName(worker)} has failed ${limit}+ times. ${hint ? `${hint} ` : ''}` +
    'I cannot complete this request with current tools. Please try a different approach or contact support.'
  );
}

/** The short form: the hint, or advice if there is none. */
export function shortMessage(hint?: string): string {
  return `Safety limit reached. ${hint || 'Try different approach.'}`;
}

/** The two log lines of a failed delegation. */
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

/** Why a worker is refused, for code. */
export function blockReason(worker: string, count: number, limit: number): string {
  return `CIRCUIT BREAKER: ${shortName(worker)} has failed ${count} times (limit: ${limit})`;
}

/** Whether a text is one of these messages: they contain "cannot" and must not count as a worker's failure. */
export function isOwnMessage(text: string): boolean {
  return /^[^\p{L}\p{N}]{0,8}(?:Safety limit reached[:.]|CIRCUIT BREAKER: |DELEGATION FAILURE: )/u.test(text);
}

/** The beginning of a text on one line, without terminal control characters. */
export function toOneLine(text: string, lengthMax: number): string {
  return cleanLine(sliceWhole(text, lengthMax), ' ');
}

function shortName(worker: string): string {
  return toOneLine(worker, nameLengthMax);
}
