/** The retry delay of a call whose store request is pending; it grows with the waiting time. */

import { retryDelayMs } from './limits.ts';

/** Whether a call is a retry at its retry time; timers may fire slightly early. */
export function isRetry(retryAtMs: number | undefined, atMs: number): boolean {
  return retryAtMs !== undefined && retryAtMs <= atMs + retryDelayMs / 2;
}

/** When a call retries whose store request was sent at `requestedAtMs`. */
export function retryTimeAfter(atMs: number, requestedAtMs: number): number {
  return atMs + Math.max(retryDelayMs, atMs - requestedAtMs);
}
