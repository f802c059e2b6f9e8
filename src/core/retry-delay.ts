/** When a call comes back whose request to the store is out; the longer that takes, the later. */

import { retryDelayMs } from './limits.ts';

/** Whether somebody is back who was sent away until then: timers may be early by a little. */
export function isRetry(retryAtMs: number | undefined, atMs: number): boolean {
  return retryAtMs !== undefined && retryAtMs <= atMs + retryDelayMs / 2;
}

export function retryTimeAfter(atMs: number, requestedAtMs: number): number {
  return atMs + Math.max(retryDelayMs, atMs - requestedAtMs);
}
