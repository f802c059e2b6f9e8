/** A bounded list of times, oldest first, for sliding windows. */

import type { Frequency } from './condition.ts';

/** Plain JSON. Times before index `from` are expired and removed in bulk, so that each removal costs O(1). */
export interface History {
  readonly times: number[];
  from: number;
}

/** Creates an empty history. */
export function createHistory(): History {
  return { times: [], from: 0 };
}

/** Records a time; beyond the cap the oldest is dropped. Times may arrive out of order. */
export function recordTime(history: History, atMs: number, cap: number): void {
  const { times } = history;
  let index = times.length;
  while (index > history.from && (times[index - 1] ?? 0) > atMs) index--;
  if (index === times.length) times.push(atMs);
  else times.splice(index, 0, atMs);
  if (times.length - history.from > cap) history.from++;
  if (history.from > cap) history.from -= times.splice(0, history.from).length;
}

/** The number of recorded times. */
export function sizeOf(history: History): number {
  return history.times.length - history.from;
}

/** The number of times in the window that ends now. A time exactly one window old is outside. */
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

/** When one more run would be within the count: 0 = at any time, Infinity = never. */
export function freeAtMs(history: History | undefined, { count, windowMs }: Frequency): number {
  if (count === 0) return Number.POSITIVE_INFINITY;
  if (history === undefined || sizeOf(history) < count) return 0;
  return (history.times[history.times.length - count] ?? 0) + windowMs;
}
