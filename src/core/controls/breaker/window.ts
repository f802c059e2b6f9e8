/** Recent calls as counts: a ring of the last calls, time buckets, and running calls. */

import { bucketsPerWindow } from '../../limits.ts';
import type { BreakerSettings } from '../../settings.ts';
import type { BreakerState } from './state.ts';

const callsPerWord = 16;
const slots = 9;

/** Creates the empty ring if a setting needs one. */
export function emptyRing(settings: BreakerSettings): number[] | null {
  const isUsed = settings.trip === 'count_window' || settings.rateWindow === 'calls';
  return isUsed ? new Array<number>(Math.ceil(settings.windowCalls / callsPerWord)).fill(0) : null;
}

/** Creates the empty buckets if a setting needs them: calls, failures and slow calls of each bucket in turn. */
export function emptyBuckets(settings: BreakerSettings): number[] | null {
  const isUsed = settings.trip === 'time_window' || settings.rateWindow === 'time';
  return isUsed ? new Array<number>(bucketsPerWindow * 3).fill(0) : null;
}

/** Creates the empty slots of running calls if a setting measures durations. */
export function emptyRunning(settings: BreakerSettings): number[] | null {
  return settings.slowCallSecs === undefined ? null : [0, 0, 0, 0, 0, 0, 0, 0, 0];
}

/** Clears all windows: a new phase starts empty. */
export function clearWindows(state: BreakerState): void {
  state.ring?.fill(0);
  state.buckets?.fill(0);
  state.running?.fill(0);
  state.ringAt = state.ringFilled = state.ringFailures = state.ringSlow = state.overdue = 0;
}

/** Records one finished call. `atMs` is read only if there are time buckets. */
export function recordFinishedCall(
  state: BreakerState,
  settings: BreakerSettings,
  failed: boolean,
  slow: boolean,
  atMs: number,
): void {
  // Successes are only counted in the ring; the next other outcome writes them.
  state.ringAt++;
  if (state.ring !== null && (failed || slow))
    writeRing(state, state.ring, settings, (failed ? 1 : 0) | (slow ? 2 : 0));
  const { buckets } = state;
  if (buckets === null) return;
  const now = bucketIndex(state, settings, atMs);
  // Skipped buckets are cleared: samples expire by age, not by use.
  forEachElapsed(buckets, 3, state.bucketAt, now, (at) => buckets.fill(0, at, at + 3));
  if (now > state.bucketAt) state.bucketAt = now;
  const at = slotIndex(state.bucketAt, bucketsPerWindow) * 3;
  buckets[at]!++;
  if (failed) buckets[at + 1]!++;
  if (slow) buckets[at + 2]!++;
}

/** Writes the counted successes, and the last call. */
function writeRing(state: BreakerState, ring: number[], settings: BreakerSettings, bits: number): void {
  const { failures, slow } = ringSums(state, settings, true);
  const at = (state.ringAt - 1) % settings.windowCalls;
  ring[at >> 4]! |= bits << ((at & 15) << 1);
  state.ringFilled = state.ringAt;
  state.ringFailures = failures + (bits & 1);
  state.ringSlow = slow + (bits >> 1);
}

function bucketMs(settings: BreakerSettings): number {
  return (settings.monitorWindowSecs * 1000) / bucketsPerWindow;
}

function bucketIndex(state: BreakerState, settings: BreakerSettings, atMs: number): number {
  return Math.floor((atMs - state.bucketFromMs) / bucketMs(settings));
}

/** The slot of a bucket index; indexes below 0 come from an import. */
function slotIndex(index: number, size: number): number {
  return ((index % size) + size) % size;
}

/** Visits every slot that expired between `at` and `now`: the newest buckets reuse the oldest slots. */
function forEachElapsed(
  parts: readonly number[],
  width: number,
  at: number,
  now: number,
  visit: (at: number) => void,
): void {
  const size = parts.length / width;
  for (let step = Math.min(now - at, size); step > 0; step--) visit(slotIndex(at + step, size) * width);
}

/** Calls, failures and slow calls in the window of the rates. */
export interface WindowSums {
  readonly calls: number;
  readonly failures: number;
  readonly slow: number;
}

/** Sums up the last calls. With `clears` the slots of counted successes are cleared. */
export function ringSums(state: BreakerState, { windowCalls }: BreakerSettings, clears = false): WindowSums {
  const { ring, ringAt } = state;
  let { ringFailures: failures, ringSlow: slow } = state;
  // Counted successes are not in the ring yet, whatever their slots contain.
  for (let call = Math.max(state.ringFilled, ringAt - windowCalls); ring !== null && call < ringAt; call++) {
    const at = call % windowCalls;
    const shift = (at & 15) << 1;
    const word = ring[at >> 4]!;
    failures -= (word >>> shift) & 1;
    slow -= (word >>> (shift + 1)) & 1;
    if (clears) ring[at >> 4] = word & ~(3 << shift);
  }
  return { calls: Math.min(ringAt, windowCalls), failures, slow };
}

/** Sums up the time window. */
export function bucketSums(state: BreakerState, settings: BreakerSettings, atMs: number): WindowSums {
  const { buckets, bucketAt } = state;
  const sums = { calls: 0, failures: 0, slow: 0 };
  if (buckets === null) return sums;
  // A bucket older than the window does not count, even if its slot was not reused.
  const newest = Math.max(bucketAt, bucketIndex(state, settings, atMs));
  for (let index = newest - bucketsPerWindow + 1; index <= bucketAt; index++) {
    const at = slotIndex(index, bucketsPerWindow) * 3;
    sums.calls += buckets[at]!;
    sums.failures += buckets[at + 1]!;
    sums.slow += buckets[at + 2]!;
  }
  return sums;
}

/** The windows of a saved breaker, with ages instead of points in time. */
export interface SavedWindows {
  /** The window of calls, oldest first: 1 failed, 2 slow, 3 both. */
  readonly calls: string;
  /** The time window, oldest bucket first: calls, failures and slow calls of each. */
  readonly parts: readonly number[];
  readonly partMs: number;
  /** Milliseconds since the start of the newest bucket. */
  readonly partAgeMs: number;
}

/** Exports the windows. */
export function saveWindows(state: BreakerState, settings: BreakerSettings, atMs: number): SavedWindows {
  const { ring, ringAt, ringFilled, buckets, bucketAt } = state;
  const { windowCalls } = settings;
  const partMs = bucketMs(settings);
  let calls = '';
  for (let call = Math.max(0, ringAt - windowCalls); ring !== null && call < ringAt; call++) {
    const at = call % windowCalls;
    calls += call < ringFilled ? (ring[at >> 4]! >>> ((at & 15) << 1)) & 3 : 0;
  }
  const parts: number[] = [];
  for (let index = bucketAt - bucketsPerWindow + 1; buckets !== null && index <= bucketAt; index++) {
    const at = slotIndex(index, bucketsPerWindow) * 3;
    parts.push(...buckets.slice(at, at + 3));
  }
  return { calls, parts, partMs, partAgeMs: Math.max(0, atMs - state.bucketFromMs - bucketAt * partMs) };
}

/** Loads saved windows as far as they fit the settings. */
export function loadWindows(
  state: BreakerState,
  settings: BreakerSettings,
  { calls, parts, partMs, partAgeMs }: Partial<SavedWindows>,
  atMs: number,
): void {
  const { ring, buckets } = state;
  if (ring !== null && typeof calls === 'string') {
    for (const bits of calls.slice(-settings.windowCalls)) {
      state.ringAt++;
      if (Number(bits) & 3) writeRing(state, ring, settings, Number(bits) & 3);
    }
  }
  const fits = buckets !== null && Array.isArray(parts) && parts.length === buckets.length;
  if (!fits || partMs !== bucketMs(settings) || !(partAgeMs! >= 0 && partAgeMs! < 1e12)) return;
  state.bucketFromMs = atMs - partAgeMs!;
  // The newest bucket has index 0, so older ones are negative.
  for (const [at, count] of parts.entries()) {
    buckets[(at + 3) % buckets.length] = Number.isSafeInteger(count) && count > 0 ? count : 0;
  }
}

function slotMs(settings: BreakerSettings): number {
  return ((settings.slowCallSecs ?? 0) * 1000) / (slots - 1);
}

/** Records the start of a call: the call is overdue once its slot has left the ring. */
export function beginRunning(state: BreakerState, settings: BreakerSettings, atMs: number): void {
  if (state.running === null) return;
  rollRunning(state, settings, atMs);
  state.running[state.runningAt % slots]!++;
}

/** Like `beginRunning` or `endRunning` within one clock tick; false if there is nothing to subtract. */
export function countRunning({ running, runningAt }: BreakerState, by: number): boolean {
  const slot = runningAt % slots;
  if (running === null || running[slot]! + by < 0) return false;
  running[slot]! += by;
  return true;
}

/** Records the end of a call of this generation. */
export function endRunning(state: BreakerState, settings: BreakerSettings, beganAtMs: number, atMs: number): void {
  const { running } = state;
  if (running === null) return;
  rollRunning(state, settings, atMs);
  const beganSlot = Math.floor(beganAtMs / slotMs(settings));
  if (state.runningAt - beganSlot >= slots && state.overdue > 0) {
    state.overdue--;
    return;
  }
  // After the clock went back, a call may be in a later slot: remove any one call.
  const slot = running[beganSlot % slots] ? beganSlot % slots : running.findIndex((count) => count > 0);
  if (slot >= 0) running[slot]!--;
}

function rollRunning(state: BreakerState, settings: BreakerSettings, atMs: number): void {
  state.overdue = countOverdue(state, settings, atMs, true);
  state.runningAt = Math.max(state.runningAt, Math.floor(atMs / slotMs(settings)));
}

/** Counts running calls past the slow limit. Writes nothing unless `clears` is set. */
export function countOverdue(state: BreakerState, settings: BreakerSettings, atMs: number, clears = false): number {
  const { running, runningAt } = state;
  let { overdue } = state;
  if (running === null) return 0;
  forEachElapsed(running, 1, runningAt, Math.floor(atMs / slotMs(settings)), (slot) => {
    overdue += running[slot]!;
    if (clears) running[slot] = 0;
  });
  return overdue;
}
