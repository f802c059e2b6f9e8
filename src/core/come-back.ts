/** When a call comes back whose request to the store is out; the longer that takes, the later. */

import { comeBackMs } from './limits.ts';

export function comeBackAt(atMs: number, askedMs: number): number {
  return atMs + Math.max(comeBackMs, atMs - askedMs);
}
