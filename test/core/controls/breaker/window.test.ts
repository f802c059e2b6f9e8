/** The windows against a list of calls, which is what they stand for and never keep. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BreakerState, initialBreaker } from '../../../../src/core/controls/breaker/state.ts';
import {
  bucketSums,
  clearWindows,
  emptyBuckets,
  emptyRing,
  recordFinishedCall,
  ringSums,
} from '../../../../src/core/controls/breaker/window.ts';
import { bucketsPerWindow } from '../../../../src/core/limits.ts';
import { settingsOf } from './breaker-story.ts';

/** Numbers that look random and are the same in every run. */
function numbers(seed: number): () => number {
  let at = seed;
  return () => {
    at = (Math.imul(at, 1_664_525) + 1_013_904_223) >>> 0;
    return at / 0x1_0000_0000;
  };
}

for (const size of [1, 2, 15, 16, 17, 31, 32, 33, 100]) {
  test(`a ring of ${size} holds the last ${size} calls after any number of calls`, () => {
    const settings = settingsOf({ rateWindow: 'calls', windowCalls: size });
    const state = initialBreaker(settings);
    assert.equal(state.ring?.length, Math.ceil(size / 16));
    const next = numbers(size);
    const calls: { readonly failed: boolean; readonly slow: boolean }[] = [];
    for (let at = 0; at < size * 5 + 7; at++) {
      const call = { failed: next() < 0.4, slow: next() < 0.3 };
      calls.push(call);
      recordFinishedCall(state, settings, call.failed, call.slow, at);
      const last = calls.slice(-size);
      assert.deepEqual(
        ringSums(state, settings),
        {
          calls: last.length,
          failures: last.filter(({ failed }) => failed).length,
          slow: last.filter(({ slow }) => slow).length,
        },
        `after ${at + 1} calls`,
      );
    }
    assert.equal(state.ring?.length, Math.ceil(size / 16), 'it never grows');
  });
}

test('the breaker keeps a window only if a setting uses that window', () => {
  const kept = (trip: BreakerSettingsTrip, rateWindow: 'calls' | 'time') => {
    const settings = settingsOf({ trip, rateWindow, windowCalls: 17 });
    return [emptyRing(settings)?.length ?? null, emptyBuckets(settings)?.length ?? null];
  };
  const buckets = bucketsPerWindow * 3;
  assert.deepEqual(kept('consecutive', 'calls'), [2, null]);
  assert.deepEqual(kept('consecutive', 'time'), [null, buckets]);
  assert.deepEqual(kept('cumulative', 'time'), [null, buckets]);
  assert.deepEqual(kept('count_window', 'time'), [2, buckets]);
  assert.deepEqual(kept('count_window', 'calls'), [2, null]);
  assert.deepEqual(kept('time_window', 'calls'), [2, buckets]);
});

type BreakerSettingsTrip = 'consecutive' | 'cumulative' | 'count_window' | 'time_window';

test('buckets count every call younger than the window minus one bucket, and no call as old as the window', () => {
  const settings = settingsOf({ monitorWindowSecs: 12 });
  const state = initialBreaker(settings);
  const next = numbers(12);
  const calls: { readonly atMs: number; readonly failed: boolean; readonly slow: boolean }[] = [];
  let atMs = 0;
  let empty = 0;
  for (let step = 0; step < 3_000; step++) {
    const pause = next();
    atMs += pause < 0.9 ? Math.floor(next() * 700) : Math.floor(next() * 30_000);
    const before = bucketSums(state, settings, atMs);
    const call = { atMs, failed: next() < 0.4, slow: next() < 0.3 };
    const bucketOf = (ms: number) => Math.floor(ms / 2_000);
    const inside = calls.filter((one) => bucketOf(one.atMs) > bucketOf(atMs) - bucketsPerWindow);
    assert.deepEqual(
      before,
      {
        calls: inside.length,
        failures: inside.filter(({ failed }) => failed).length,
        slow: inside.filter(({ slow }) => slow).length,
      },
      `at ${atMs}`,
    );
    assert.ok(inside.every((one) => atMs - one.atMs < 12_000));
    if (inside.length === 0) empty++;
    calls.push(call);
    recordFinishedCall(state, settings, call.failed, call.slow, atMs);
    while (calls.length > 0 && atMs - calls[0]!.atMs > 20_000) calls.shift();
  }
  assert.ok(empty > 20, 'some pauses were longer than the window');
});

test('an idle hour empties a time window of five minutes', () => {
  const settings = settingsOf({ monitorWindowSecs: 300 });
  const state = initialBreaker(settings);
  for (let at = 0; at < 300; at++) recordFinishedCall(state, settings, true, true, at * 1_000);
  assert.deepEqual(bucketSums(state, settings, 299_999), { calls: 300, failures: 300, slow: 300 });
  assert.deepEqual(bucketSums(state, settings, 3_900_000), { calls: 0, failures: 0, slow: 0 });
  recordFinishedCall(state, settings, true, false, 3_900_000);
  assert.deepEqual(bucketSums(state, settings, 3_900_000), { calls: 1, failures: 1, slow: 0 });
});

test('reading the sums of a window does not change the state', () => {
  const settings = settingsOf({ monitorWindowSecs: 6 });
  const state = initialBreaker(settings);
  recordFinishedCall(state, settings, true, false, 1_000);
  const before = structuredClone(state);
  bucketSums(state, settings, 99_000);
  assert.deepEqual(state, before);
});

test('a window that is not kept has sums of zero', () => {
  const settings = settingsOf({ rateWindow: 'calls' });
  const state = initialBreaker(settings);
  recordFinishedCall(state, settings, true, true, 5);
  assert.deepEqual(bucketSums(state, settings, 5), { calls: 0, failures: 0, slow: 0 });
});

test('when the clock goes back a call counts in the newest bucket, and at a negative time in the first', () => {
  const settings = settingsOf({ monitorWindowSecs: 6 });
  const state = initialBreaker(settings);
  recordFinishedCall(state, settings, true, false, 10_000);
  recordFinishedCall(state, settings, false, true, 2_000);
  assert.deepEqual(bucketSums(state, settings, 2_000), { calls: 2, failures: 1, slow: 1 });
  assert.deepEqual(bucketSums(state, settings, 15_999), { calls: 2, failures: 1, slow: 1 });
  assert.deepEqual(bucketSums(state, settings, 16_000), { calls: 0, failures: 0, slow: 0 });
  const below = initialBreaker(settings);
  recordFinishedCall(below, settings, true, false, -9_000);
  assert.deepEqual(bucketSums(below, settings, -9_000), { calls: 1, failures: 1, slow: 0 });
  assert.equal(below.buckets?.length, bucketsPerWindow * 3);
});

test('clearing the windows removes all calls from the windows', () => {
  const settings = settingsOf({ trip: 'count_window', rateWindow: 'time', windowCalls: 40, slowCallSecs: 1 });
  const state: BreakerState = initialBreaker(settings);
  for (let at = 0; at < 35; at++) recordFinishedCall(state, settings, true, true, at);
  state.running?.fill(3);
  state.overdue = 4;
  clearWindows(state);
  assert.deepEqual(ringSums(state, settings), { calls: 0, failures: 0, slow: 0 });
  assert.deepEqual(bucketSums(state, settings, 40), { calls: 0, failures: 0, slow: 0 });
  assert.equal(state.ringAt, 0);
  assert.equal(state.overdue, 0);
  for (const list of [state.ring, state.buckets, state.running]) {
    assert.ok(list?.every((count) => count === 0));
  }
});
