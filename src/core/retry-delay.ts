/** When a call comes back whose request to the store is out; the longer that takes, the later. */

import { comeBackMs } from './limits.ts';

/** Whether somebody is back who was sent away until then: timers may be early by a little. */
export function isBack(backAtMs: number | undefined, atMs: number): boolean {
  return backAtMs !== undefined && backAtMs <= atMs + comeBackMs / 2;
}

export function comeBackAt(atMs: number, askedMs: number): number {
  return atMs + Math.max(comeBackMs, atMs - askedMs);
}
