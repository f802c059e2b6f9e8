/** The three numbers to watch: trips, share of failures, time open; and when each asks for attention. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { breakerMetrics } from '../../../../src/core/controls/breaker/metrics.ts';
import { openBreaker } from '../../../../src/core/controls/breaker/phases.ts';
import { initialBreaker } from '../../../../src/core/controls/breaker/state.ts';
import { settingsOf, story } from './breaker-story.ts';

const alert = { tripsPerHour: 5, failureRate: 0.1, timeInOpenSecs: 300 };
const settings = settingsOf({});

test('an unused breaker raises no alert', () => {
  assert.deepEqual(breakerMetrics(initialBreaker(settings), settings, alert, 0), {
    breaker_trip_count: 0,
    trips_per_hour: 0,
    failure_rate: undefined,
    time_in_open_state: 0,
    alerts: [],
  });
});

test('more than five trips within an hour raise an alert, which ends an hour later', () => {
  const state = initialBreaker(settings);
  const at = (atMs: number) => breakerMetrics(state, settings, { ...alert, timeInOpenSecs: 1e9 }, atMs);
  for (let trip = 0; trip < 5; trip++) openBreaker(state, settings, 1_000 + trip, 'again');
  assert.deepEqual([at(2_000).trips_per_hour, at(2_000).alerts], [5, []]);
  openBreaker(state, settings, 3_000, 'again');
  assert.deepEqual([at(3_000).trips_per_hour, at(3_000).alerts], [6, ['breaker_trip_count']]);
  assert.deepEqual([at(3_600_999).trips_per_hour, at(3_601_000).trips_per_hour], [6, 5]);
  assert.equal(at(9e9).trips_per_hour, 0);
  assert.equal(at(9e9).breaker_trip_count, 6);
});

test('the failure rate is reported once the minimum of calls is reached, and raises an alert above its limit', () => {
  const few = settingsOf({ failureThreshold: 99, minimumCalls: 10 });
  const state = story(few, [[0, 'fail', 'closed'], ...Array.from({ length: 8 }, () => [0, 'ok', 'closed'] as const)]);
  const at = (atMs: number) => breakerMetrics(state, few, alert, atMs);
  assert.equal(at(0).failure_rate, undefined);
  story(few, [[0, 'ok', 'closed']], state);
  assert.deepEqual([at(0).failure_rate, at(0).alerts], [0.1, []]);
  story(few, [[0, 'fail', 'closed']], state);
  assert.deepEqual([at(0).failure_rate, at(0).alerts], [2 / 11, ['failure_rate']]);
  assert.equal(at(300_000).failure_rate, undefined, 'the window is empty again');
});

test('the failure rate can be computed from a window of calls', () => {
  const calls = settingsOf({ failureThreshold: 99, minimumCalls: 2, rateWindow: 'calls', windowCalls: 2 });
  const state = story(calls, [
    [0, 'ok', 'closed'],
    [0, 'ok', 'closed'],
    [0, 'fail', 'closed'],
  ]);
  assert.equal(breakerMetrics(state, calls, alert, 9e9).failure_rate, 0.5);
});

test('time open includes the current period, adds up over reopenings and raises an alert above five minutes', () => {
  const long = settingsOf({ failureThreshold: 1, recoveryTimeoutSecs: 200, successThreshold: 1 });
  const state = story(long, [[1_000, 'fail', 'open']]);
  const at = (atMs: number) => breakerMetrics(state, long, alert, atMs);
  assert.equal(at(1_000).time_in_open_state, 0);
  assert.equal(at(101_000).time_in_open_state, 100_000);
  assert.equal(at(900_000).time_in_open_state, 200_000, 'past its time it blocks nobody');
  story(long, [[900_000, 'fail', 'open']], state);
  assert.deepEqual([at(1_000_000).time_in_open_state, at(1_000_000).alerts], [300_000, []]);
  assert.deepEqual([at(1_000_001).time_in_open_state, at(1_000_001).alerts], [300_001, ['time_in_open_state']]);
  story(long, [[1_100_000, 'ok', 'closed']], state);
  assert.equal(at(1_100_001).time_in_open_state, 0, 'closed again');
});

test('time for which a breaker is held counts as time in the open state', () => {
  const state = story({}, [[5_000, 'hold', 'closed']]);
  const at = (atMs: number) => breakerMetrics(state, settings, alert, atMs);
  assert.equal(at(305_000).time_in_open_state, 300_000);
  assert.deepEqual(at(305_000).alerts, []);
  assert.deepEqual(at(305_001).alerts, ['time_in_open_state']);
  story({}, [[305_002, 'release', 'closed']], state);
  assert.equal(at(305_002).time_in_open_state, 0);
});

test('for a breaker that is held and open, the longer time is reported', () => {
  const state = story({ failureThreshold: 1 }, [
    [0, 'fail', 'open'],
    [10_000, 'hold', 'open'],
  ]);
  assert.equal(breakerMetrics(state, settings, alert, 20_000).time_in_open_state, 20_000);
  assert.equal(breakerMetrics(state, settings, alert, 200_000).time_in_open_state, 190_000);
});

test('the time of a hold that began at time zero is measured from zero', () => {
  const state = story({}, [[0, 'hold', 'closed']]);
  assert.equal(breakerMetrics(state, settings, alert, 7_000).time_in_open_state, 7_000);
});
