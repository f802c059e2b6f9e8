/** What lately happened, as counts: a ring of the last calls, buckets of time, and calls that still run. */

import { bucketsPerWindow } from '../../limits.ts';
import type { BreakerSettings } from '../../settings.ts';
import type { BreakerState } from './state.ts';

const callsPerWord = 16;
const slots = 9;

/** The empty ring, where a setting asks for one. */
export function emptyRing(settings: BreakerSettings): number[] | null {
  const isUsed = settings.trip === 'count_window' || settings.rateWindow === 'calls';
  return isUsed ? new Array<number>(Math.ceil(settings.windowCalls / callsPerWord)).fill(0) : null;
}

/** The empty buckets, where a setting asks for them: calls, failures, slow, bucket after bucket. */
export function emptyBuckets(settings: BreakerSettings): number[] | null {
  const isUsed = settings.trip === 'time_window' || settings.rateWindow === 'time';
  return isUsed ? new Array<number>(bucketsPerWindow * 3).fill(0) : null;
}

/** The empty slots of calls that still run, where somebody asks how long they take. */
export function emptyRunning(settings: BreakerSettings): number[] | null {
  return settings.slowCallSecs === undefined ? null : [0, 0, 0, 0, 0, 0, 0, 0, 0];
}

/** Forgets everything: a new phase starts with an empty window. */
export function clearWindows(state: BreakerState): void {
  state.ring?.fill(0);
  state.buckets?.fill(0);
  state.running?.fill(0);
  state.ringAt = state.ringFilled = state.ringFailures = state.ringSlow = state.overdue = 0;
}

/** Records one finished call. `atMs` is looked at only where time buckets are kept. */
export function recordFinishedCall(
  state: BreakerState,
  settings: BreakerSettings,
  failed: boolean,
  slow: boolean,
  atMs: number,
): void {
  // In the ring successes are only counted: they are written when something else is.
  state.ringAt++;
  if (state.ring !== null && (failed || slow))
    writeRing(state, state.ring, settings, (failed ? 1 : 0) | (slow ? 2 : 0));
  const { buckets } = state;
  if (buckets === null) return;
  const now = bucketIndex(state, settings, atMs);
  // Every bucket that was skipped is cleared: old samples go by age, not by use.
  forEachElapsed(buckets, 3, state.bucketAt, now, (at) => buckets.fill(0, at, at + 3));
  if (now > state.bucketAt) state.bucketAt = now;
  const at = slotIndex(state.bucketAt, bucketsPerWindow) * 3;
  buckets[at]!++;
  if (failed) buckets[at + 1]!++;
  if (slow) buckets[at + 2]!++;
}

/** Writes the successes that were only counted, and the last call. */
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

/** Where a part of time lies; those before the first one came from elsewhere. */
function slotIndex(index: number, size: number): number {
  return ((index % size) + size) % size;
}

/** The parts that time has passed since: the oldest, whose places are taken by the newest. */
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

/** Calls, failures and slow calls in the window the rates look at. Asking for them writes nothing, unless told to. */
export interface WindowSums {
  readonly calls: number;
  readonly failures: number;
  readonly slow: number;
}

export function ringSums(state: BreakerState, { windowCalls }: BreakerSettings, clears = false): WindowSums {
  const { ring, ringAt } = state;
  let { ringFailures: failures, ringSlow: slow } = state;
  // What is only counted yet was good, whatever still stands in its place.
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

export function bucketSums(state: BreakerState, settings: BreakerSettings, atMs: number): WindowSums {
  const { buckets, bucketAt } = state;
  const sums = { calls: 0, failures: 0, slow: 0 };
  if (buckets === null) return sums;
  // What is older than the window does not count, whether or not its place was taken since.
  const newest = Math.max(bucketAt, bucketIndex(state, settings, atMs));
  for (let index = newest - bucketsPerWindow + 1; index <= bucketAt; index++) {
    const at = slotIndex(index, bucketsPerWindow) * 3;
    sums.calls += buckets[at]!;
    sums.failures += buckets[at + 1]!;
    sums.slow += buckets[at + 2]!;
  }
  return sums;
}

/** The windows, written down without points in time. */
export interface SavedWindows {
  /** The window of calls, oldest first: 1 failed, 2 slow, 3 both. */
  readonly calls: string;
  /** The window of time, oldest part first: calls, failures and slow calls of each. */
  readonly parts: readonly number[];
  readonly partMs: number;
  /** Milliseconds since the newest part began. */
  readonly partAgeMs: number;
}

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

/** Takes up what was saved, as far as it fits these settings. */
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
  // The newest is number 0, so the oldest comes after it.
  for (const [at, count] of parts.entries()) {
    buckets[(at + 3) % buckets.length] = Number.isSafeInteger(count) && count > 0 ? count : 0;
  }
}

function slotMs(settings: BreakerSettings): number {
  return ((settings.slowCallSecs ?? 0) * 1000) / (slots - 1);
}

/** A call began: it will be overdue once its slot has left the ring. */
export function beginRunning(state: BreakerState, settings: BreakerSettings, atMs: number): void {
  if (state.running === null) return;
  rollRunning(state, settings, atMs);
  state.running[state.runningAt % slots]!++;
}

/** As beginRunning or endRunning while the clock stands still; false where there is nothing to take away. */
export function countRunning({ running, runningAt }: BreakerState, by: number): boolean {
  const slot = runningAt % slots;
  if (running === null || running[slot]! + by < 0) return false;
  running[slot]! += by;
  return true;
}

/** A call of this generation ended. */
export function endRunning(state: BreakerState, settings: BreakerSettings, beganAtMs: number, atMs: number): void {
  const { running } = state;
  if (running === null) return;
  rollRunning(state, settings, atMs);
  const beganSlot = Math.floor(beganAtMs / slotMs(settings));
  if (state.runningAt - beganSlot >= slots && state.overdue > 0) {
    state.overdue--;
    return;
  }
  // Where the clock went back a call is filed under a later slot: one call must go, whichever it is.
  const slot = running[beganSlot % slots] ? beganSlot % slots : running.findIndex((count) => count > 0);
  if (slot >= 0) running[slot]!--;
}

function rollRunning(state: BreakerState, settings: BreakerSettings, atMs: number): void {
  state.overdue = countOverdue(state, settings, atMs, true);
  state.runningAt = Math.max(state.runningAt, Math.floor(atMs / slotMs(settings)));
}

/** How many calls are past the slow limit and still run, as of now. It writes nothing, unless told to. */
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
