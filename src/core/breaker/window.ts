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
  const at = (state.bucketAt % bucketsPerWindow) * 3;
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

/** Moves the buckets to the present, clearing every bucket that was skipped: old samples go by age, not by use. */
function rollBuckets(state: BreakerState, buckets: number[], settings: BreakerSettings, atMs: number): void {
  const now = Math.floor(atMs / bucketMs(settings));
  const steps = Math.min(now - state.bucketAt, bucketsPerWindow);
  for (let step = 1; step <= steps; step++) {
    const at = ((state.bucketAt + step) % bucketsPerWindow) * 3;
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
  const now = Math.max(Math.floor(atMs / bucketMs(settings)), state.bucketAt);
  for (let index = now - bucketsPerWindow + 1; buckets !== null && index <= state.bucketAt; index++) {
    if (index < 0) continue;
    const at = (index % bucketsPerWindow) * 3;
    calls += buckets[at]!;
    failures += buckets[at + 1]!;
    slow += buckets[at + 2]!;
  }
  return { calls, failures, slow };
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
  if (state.runningAt - began >= slots) {
    state.overdue = Math.max(0, state.overdue - 1);
    return;
  }
  const slot = began % slots;
  state.running[slot] = Math.max(0, state.running[slot]! - 1);
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
