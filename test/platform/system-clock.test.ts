/** The process's own clock, and the coarse one that is seldom looked at. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timerMaxMs } from '../../src/core/limits.ts';
import { coarseClock, systemClock, waitFor } from '../../src/platform/system-clock.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { promisesSettled, simulatedClock } from '../../src/testing/simulated-clock.ts';

/** A simulated clock that counts how often it is looked at and how many timers are set. */
function counted() {
  const clock = simulatedClock(5);
  const looks = { now: 0, timers: 0 };
  const under: Clock = {
    nowMs() {
      looks.now++;
      return clock.nowMs();
    },
    wallMs: clock.wallMs,
    after(delayMs, run) {
      looks.timers++;
      return clock.after(delayMs, run);
    },
  };
  return { clock, looks, coarse: coarseClock(under) };
}

test('a wait for a promise that is over leaves no timer, which would keep the process alive', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  await waitFor(systemClock, Promise.resolve(), 600_000);
  await assert.rejects(waitFor(systemClock, Promise.reject(new Error('broken')), 600_000), /broken/);
  assert.equal(timers(), before);
  await waitFor(systemClock, new Promise(() => undefined), 1);
});

test('the coarse clock reads the underlying clock once for many calls', () => {
  const { looks, coarse } = counted();
  for (let at = 0; at < 65; at++) assert.equal(coarse.nowMs(), 5);
  assert.deepEqual(looks, { now: 1, timers: 1 });
});

test('the coarse clock reads the underlying clock for the first call', () => {
  const { looks, coarse } = counted();
  assert.equal(coarse.nowMs(), 5);
  assert.equal(looks.now, 1);
});

test('the coarse clock reads the underlying clock again after its tick, and not before', () => {
  const { clock, looks, coarse } = counted();
  coarse.nowMs();
  clock.advance(9);
  assert.equal(coarse.nowMs(), 5);
  clock.advance(1);
  assert.equal(coarse.nowMs(), 15);
  assert.deepEqual(looks, { now: 2, timers: 2 });
});

test('in a loop that never yields the coarse clock reads again after a fixed number of calls', () => {
  const clock = { now: 0 };
  const coarse = coarseClock({ nowMs: () => clock.now++, wallMs: () => 0, after: () => () => {} });
  const answers = Array.from({ length: 65 * 3 }, () => coarse.nowMs());
  assert.deepEqual([...new Set(answers)], [0, 1, 2]);
  assert.equal(answers[64], 0);
  assert.equal(answers[65], 1);
});

test('the coarse clock returns the same time within a millisecond', () => {
  const times = [3, 3.9, 4.25];
  const coarse = coarseClock({ nowMs: () => times.shift()!, wallMs: () => 0, after: () => () => {} });
  const answers = Array.from({ length: 65 * 3 }, () => coarse.nowMs());
  assert.deepEqual([...new Set(answers)], [3, 4.25]);
  assert.equal(answers[65], 3);
});

test('the coarse clock has at most one timer, and no timer while no caller reads the clock', () => {
  const { clock, looks, coarse } = counted();
  for (let at = 0; at < 1_000; at++) coarse.nowMs();
  assert.equal(clock.pending, 1);
  assert.equal(looks.timers, 1);
  clock.advance(10_000);
  assert.equal(clock.pending, 0);
  assert.equal(looks.timers, 1);
});

test('the coarse clock never goes back', () => {
  const { clock, coarse } = counted();
  let last = 0;
  for (let at = 0; at < 500; at++) {
    clock.advance(at % 7);
    const now = coarse.nowMs();
    assert.ok(now >= last);
    assert.ok(clock.nowMs() - now <= 10, 'and is a tick behind at most');
    last = now;
  }
});

test('wall time and timers of the coarse clock are those of the underlying clock', () => {
  const { clock, coarse } = counted();
  assert.equal(coarse.wallMs(), clock.wallMs());
  let fired = 0;
  coarse.after(20, () => fired++);
  clock.advance(20);
  assert.equal(fired, 1);
});

test('the system clock is monotonic, and its wall time is the time of day', () => {
  const first = systemClock.nowMs();
  assert.ok(systemClock.nowMs() >= first);
  assert.ok(Math.abs(systemClock.wallMs() - Date.now()) < 5_000);
});

test('timers of the system clock keep no process alive', () => {
  const waiting = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = waiting();
  const cancel = systemClock.after(60_000, () => assert.fail('it was taken back'));
  // What is listed keeps the process alive.
  assert.equal(waiting(), before);
  cancel();
});

test('a cancelled timer never fires, and a timer with a negative delay fires at once', async () => {
  const came: string[] = [];
  const cancel = systemClock.after(0, () => came.push('taken back'));
  cancel();
  systemClock.after(-5, () => came.push('below zero'));
  await turnUntil(() => came.length > 0);
  assert.deepEqual(came, ['below zero']);
});

test('a delay above the maximum of the platform does not fire at once', async () => {
  const came: string[] = [];
  const cancel = systemClock.after(timerMaxMs * 4, () => came.push('too long'));
  systemClock.after(3, () => came.push('three'));
  await turnUntil(() => came.length > 0);
  assert.deepEqual(came, ['three']);
  cancel();
});

/** Turns the event loop, which a timer that keeps nothing alive does not. */
async function turnUntil(done: () => boolean): Promise<void> {
  for (let turn = 0; !done() && turn < 1_000_000; turn++) await promisesSettled();
}
