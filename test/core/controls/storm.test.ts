import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countEvent, initialStorm } from '../../../src/core/controls/storm.ts';
import { allow } from '../../../src/core/verdict.ts';

const settings = { maxEvents: 3, windowSecs: 10 };
const paused = (actual: number) => ({
  kind: 'deny',
  code: 'storm',
  control: 'storm',
  counters: { actual, limit: 3, window_secs: 10 },
});

test('the initial storm state has counted no events', () => {
  assert.deepEqual(initialStorm(7), { tripped: false, windowAtMs: 7, events: 0, before: 0, dropped: 0 });
});

test('one event above the limit pauses the watcher, and a quiet hour does not resume the watcher', () => {
  const state = initialStorm(0);
  for (const atMs of [0, 1, 2]) assert.equal(countEvent(state, settings, atMs), allow);
  assert.deepEqual(countEvent(state, settings, 3), paused(4));
  assert.deepEqual([state.tripped, state.dropped], [true, 0]);
  assert.deepEqual(countEvent(state, settings, 3_600_000), paused(4));
  assert.deepEqual([state.events, state.dropped], [4, 1]);
});

test('events of the current and the previous half window count; older events do not', () => {
  const rows: readonly [atMs: number, events: number, before: number, windowAtMs: number][] = [
    [101, 1, 0, 100],
    [5_099, 2, 0, 100],
    [5_100, 1, 2, 5_100],
    [10_100, 1, 1, 10_100],
    [20_100, 1, 0, 20_100],
    [40_099, 1, 0, 35_100],
    [40_100, 1, 1, 40_100],
  ];
  const state = initialStorm(100);
  for (const [atMs, events, before, windowAtMs] of rows) {
    assert.equal(countEvent(state, settings, atMs), allow);
    assert.deepEqual(state, { tripped: false, windowAtMs, events, before, dropped: 0 }, `${atMs}`);
  }
  countEvent(state, settings, 40_100);
  assert.deepEqual(countEvent(state, settings, 40_100), paused(4));
});
