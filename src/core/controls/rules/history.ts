/** Moments at which something ran, oldest first, at most so many: what a sliding window looks at. */

import type { Frequency } from './condition.ts';

/** Plain JSON. Moments before `from` are forgotten already and are cut off in bulk, so that each costs O(1). */
export interface History {
  readonly times: number[];
  from: number;
}

export function createHistory(): History {
  return { times: [], from: 0 };
}

/** Takes a moment in; beyond the cap the oldest goes. Moments that come out of order find their place. */
export function recordTime(history: History, atMs: number, cap: number): void {
  const { times } = history;
  let index = times.length;
  while (index > history.from && (times[index - 1] ?? 0) > atMs) index--;
  if (index === times.length) times.push(atMs);
  else times.splice(index, 0, atMs);
  if (times.length - history.from > cap) history.from++;
  if (history.from > cap) history.from -= times.splice(0, history.from).length;
}

/** How many moments it holds. */
export function sizeOf(history: History): number {
  return history.times.length - history.from;
}

/** How many moments lie in the window that ends now. One that is exactly a window old has left it. */
export function countIn(history: History, windowMs: number, atMs: number): number {
  let low = history.from;
  let high = history.times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((history.times[middle] ?? 0) <= atMs - windowMs) low = middle + 1;
    else high = middle;
  }
  return history.times.length - low;
}

/** When one more run would not be too many: 0 = at any time, Infinity = never. */
export function freeAtMs(history: History | undefined, { count, windowMs }: Frequency): number {
  if (count === 0) return Number.POSITIVE_INFINITY;
  if (history === undefined || sizeOf(history) < count) return 0;
  return (history.times[history.times.length - count] ?? 0) + windowMs;
}
