/** What lately happened, as counts: a ring of the last calls, buckets of time, and calls that still run. */

import { bucketsPerWindow } from '../limits.ts';
import type { BreakerSettings } from '../settings.ts';
import type { BreakerState } from './state.ts';

const callsPerWord = 16;
const slots = 9;

/** The empty ring, where a setting asks for one. */
export function ringWords(settings: BreakerSettings): number[] | null {
  const wanted = settings.trip === 'count_window' || settings.rateWindow === 'calls';
  return wanted ? new Array<number>(Math.ceil(settings.windowCalls / callsPerWord)).fill(0) : null;
}

/** The empty buckets, where a setting asks for them: calls, failures, slow, bucket after bucket. */
export function bucketCount(settings: BreakerSettings): number[] | null {
  const wanted = settings.trip === 'time_window' || settings.rateWindow === 'time';
  return wanted ? new Array<number>(bucketsPerWindow * 3).fill(0) : null;
}

/** Forgets everything: a new phase starts with an empty window. */
export function clearWindows(state: BreakerState): void {
  state.ring?.fill(0);
  state.ringAt = 0;
  state.ringFilled = 0;
  state.ringFailures = 0;
  state.ringSlow = 0;
  state.buckets?.fill(0);
  state.running?.fill(0);
  state.overdue = 0;
}

/** Records one finished call. `atMs` is looked at only where time buckets are kept. */
export function record(
  state: BreakerState,
  settings: BreakerSettings,
  failed: boolean,
  slow: boolean,
  atMs: number,
): void {
  if (state.ring !== null) putRing(state, state.ring, settings.windowCalls, (failed ? 1 : 0) | (slow ? 2 : 0));
  if (state.buckets === null) return;
  rollBuckets(state, state.buckets, settings, atMs);
  const at = partOf(state.bucketAt);
  state.buckets[at] = state.buckets[at]! + 1;
  if (failed) state.buckets[at + 1] = state.buckets[at + 1]! + 1;
  if (slow) state.buckets[at + 2] = state.buckets[at + 2]! + 1;
}

function putRing(state: BreakerState, ring: number[], size: number, bits: number): void {
  const at = state.ringAt;
  const word = at >> 4;
  const shift = (at & 15) << 1;
  const old = (ring[word]! >>> shift) & 3;
  if (state.ringFilled === size) {
    state.ringFailures -= old & 1;
    state.ringSlow -= old >> 1;
  } else {
    state.ringFilled++;
  }
  ring[word] = (ring[word]! & ~(3 << shift)) | (bits << shift);
  state.ringFailures += bits & 1;
  state.ringSlow += bits >> 1;
  state.ringAt = at + 1 === size ? 0 : at + 1;
}

function bucketMs(settings: BreakerSettings): number {
  return (settings.monitorWindowSecs * 1000) / bucketsPerWindow;
}

function bucketIndex(state: BreakerState, settings: BreakerSettings, atMs: number): number {
  return Math.floor((atMs - state.bucketFromMs) / bucketMs(settings));
}

/** Where a bucket lies; those before the first one came from elsewhere. */
function partOf(index: number): number {
  return (((index % bucketsPerWindow) + bucketsPerWindow) % bucketsPerWindow) * 3;
}

/** Moves the buckets to the present, clearing every bucket that was skipped: old samples go by age, not by use. */
function rollBuckets(state: BreakerState, buckets: number[], settings: BreakerSettings, atMs: number): void {
  const now = bucketIndex(state, settings, atMs);
  const steps = Math.min(now - state.bucketAt, bucketsPerWindow);
  for (let step = 1; step <= steps; step++) {
    const at = partOf(state.bucketAt + step);
    buckets.fill(0, at, at + 3);
  }
  if (steps === bucketsPerWindow) buckets.fill(0);
  if (now > state.bucketAt) state.bucketAt = now;
}

/** Calls, failures and slow calls in the window the rates look at. It never writes. */
export interface WindowSums {
  readonly calls: number;
  readonly failures: number;
  readonly slow: number;
}

export function ringSums(state: BreakerState): WindowSums {
  return { calls: state.ringFilled, failures: state.ringFailures, slow: state.ringSlow };
}

export function bucketSums(state: BreakerState, settings: BreakerSettings, atMs: number): WindowSums {
  let calls = 0;
  let failures = 0;
  let slow = 0;
  const buckets = state.buckets;
  const now = Math.max(bucketIndex(state, settings, atMs), state.bucketAt);
  for (let back = now - state.bucketAt; buckets !== null && back < bucketsPerWindow; back++) {
    const at = partOf(now - back);
    calls += buckets[at]!;
    failures += buckets[at + 1]!;
    slow += buckets[at + 2]!;
  }
  return { calls, failures, slow };
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
  const partMs = bucketMs(settings);
  let calls = '';
  for (let step = 0; ring !== null && step < ringFilled; step++) {
    const at = (ringAt + step) % ringFilled; // Not yet full it begins at 0, full at the oldest.
    calls += (ring[at >> 4]! >>> ((at & 15) << 1)) & 3;
  }
  const parts: number[] = [];
  for (let index = bucketAt - bucketsPerWindow + 1; buckets !== null && index <= bucketAt; index++) {
    parts.push(...buckets.slice(partOf(index), partOf(index) + 3));
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
    for (const bits of calls.slice(-settings.windowCalls)) putRing(state, ring, settings.windowCalls, Number(bits) & 3);
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
  rollRunning(state, state.running, settings, atMs);
  const slot = state.runningAt % slots;
  state.running[slot] = state.running[slot]! + 1;
}

/** A call of this generation ended. */
export function endRunning(state: BreakerState, settings: BreakerSettings, beganAtMs: number, atMs: number): void {
  if (state.running === null) return;
  rollRunning(state, state.running, settings, atMs);
  const began = Math.floor(beganAtMs / slotMs(settings));
  if (state.runningAt - began >= slots && state.overdue > 0) {
    state.overdue--;
    return;
  }
  // Where the clock went back a call is filed under a later slot: one call must go, whichever it is.
  const own = state.running[began % slots] ? began % slots : state.running.findIndex((count) => count > 0);
  if (own >= 0) state.running[own] = state.running[own]! - 1;
}

function rollRunning(state: BreakerState, running: number[], settings: BreakerSettings, atMs: number): void {
  const now = Math.floor(atMs / slotMs(settings));
  const steps = Math.min(now - state.runningAt, slots);
  for (let step = 1; step <= steps; step++) {
    const slot = (state.runningAt + step) % slots;
    state.overdue += running[slot]!;
    running[slot] = 0;
  }
  if (now > state.runningAt) state.runningAt = now;
}

/** How many calls are past the slow limit and still run, as of now. It never writes. */
export function overdueAt(state: BreakerState, settings: BreakerSettings, atMs: number): number {
  if (state.running === null) return 0;
  let overdue = state.overdue;
  const now = Math.floor(atMs / slotMs(settings));
  const steps = Math.min(now - state.runningAt, slots);
  for (let step = 1; step <= steps; step++) overdue += state.running[(state.runningAt + step) % slots]!;
  return overdue;
}
