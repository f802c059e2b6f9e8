/** Any number of timeouts on one timer: their order, their removal, and how the timer is set again. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTimerQueue, type TimedLink } from '../../src/platform/timer-queue.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { simulatedClock } from '../../src/testing/simulated-clock.ts';

/** A clock that counts the timers that were ever asked for. */
function counting() {
  const clock = simulatedClock();
  const delays: number[] = [];
  const counted: Clock = {
    nowMs: clock.nowMs,
    wallMs: clock.wallMs,
    after(delayMs, run) {
      delays.push(delayMs);
      return clock.after(delayMs, run);
    },
  };
  const fired: string[] = [];
  const list = createTimerQueue(counted);
  return {
    clock,
    delays,
    fired,
    list,
    add(durationMs: number, name: string): TimedLink {
      const timeout = { dueMs: clock.nowMs() + durationMs, fire: () => fired.push(name) };
      list.add(durationMs, timeout);
      return timeout;
    },
  };
}

test('timeouts of equal duration share one timer and fire in the order of their start', () => {
  const { clock, delays, fired, add } = counting();
  for (let at = 0; at < 5; at++) {
    add(100, `call ${at}`);
    clock.advance(10);
  }
  assert.equal(clock.pending, 1);
  assert.deepEqual(delays, [100]);
  clock.advance(49);
  assert.deepEqual(fired, []);
  clock.advance(1);
  assert.deepEqual(fired, ['call 0']);
  clock.advance(25);
  assert.deepEqual(fired, ['call 0', 'call 1', 'call 2']);
  clock.advance(1_000);
  assert.equal(fired.length, 5);
  assert.equal(clock.pending, 0);
});

test('a timeout fires exactly at its due time', () => {
  const { clock, fired, add } = counting();
  add(100, 'a');
  clock.advance(99);
  assert.deepEqual(fired, []);
  clock.advance(1);
  assert.deepEqual(fired, ['a']);
});

test('an earlier timeout moves the timer forward, and a later timeout leaves the timer unchanged', () => {
  const { clock, delays, fired, add } = counting();
  add(500, 'patient');
  add(900, 'more patient');
  assert.deepEqual(delays, [500]);
  add(100, 'hasty');
  assert.deepEqual(delays, [500, 100]);
  assert.equal(clock.pending, 1, 'the earlier timer replaced the later one');
  clock.advance(100);
  assert.deepEqual(fired, ['hasty']);
  assert.deepEqual(delays, [500, 100, 400]);
  clock.advance(800);
  assert.deepEqual(fired, ['hasty', 'patient', 'more patient']);
});

test('two timeouts that are due at the same time share one timer', () => {
  const { delays, add } = counting();
  add(100, 'a');
  add(100, 'b');
  assert.deepEqual(delays, [100]);
});

test('timeouts of different durations each fire at their own time', () => {
  const { clock, fired, add } = counting();
  add(300, 'c');
  add(100, 'a');
  clock.advance(50);
  add(100, 'b');
  add(300, 'd');
  clock.advance(50);
  assert.deepEqual(fired, ['a']);
  clock.advance(50);
  assert.deepEqual(fired, ['a', 'b']);
  clock.advance(200);
  assert.deepEqual(fired, ['a', 'b', 'c', 'd']);
});

test('a timeout can be removed as first, last, middle or only one, twice, and after it fired', () => {
  const { clock, fired, list, add } = counting();
  const [first, second, third, fourth] = ['1', '2', '3', '4'].map((name) => add(100, name));
  assert.equal(list.remove(second!), true);
  assert.equal(list.remove(second!), false);
  list.remove(first!);
  list.remove(fourth!);
  const alone = add(70, 'alone');
  list.remove(alone);
  add(100, '5');
  clock.advance(100);
  assert.deepEqual(fired, ['3', '5']);
  list.remove(third!);
  const again = add(100, '6');
  list.remove(third!);
  clock.advance(100);
  assert.deepEqual(fired, ['3', '5', '6']);
  list.remove(again);
  assert.equal(clock.pending, 0);
});

test('removing a timeout sets no timer, and the timer of an empty queue fires nothing and is not set again', () => {
  const { clock, delays, fired, list, add } = counting();
  for (let at = 0; at < 10; at++) list.remove(add(100, String(at)));
  assert.deepEqual(delays, [100]);
  clock.advance(1_000);
  assert.deepEqual(fired, []);
  assert.equal(clock.pending, 0);
  add(100, 'after');
  clock.advance(100);
  assert.deepEqual(fired, ['after']);
});

test('if the first timeout was removed, its timer fires nothing and is set for the next timeout', () => {
  const { clock, delays, fired, list, add } = counting();
  const first = add(100, 'first');
  clock.advance(30);
  add(100, 'second');
  list.remove(first);
  clock.advance(70);
  assert.deepEqual(fired, []);
  assert.deepEqual(delays, [100, 30]);
  clock.advance(30);
  assert.deepEqual(fired, ['second']);
});

test('a timer that fires too early is set again for the remaining time', () => {
  const clock = simulatedClock();
  const delays: number[] = [];
  const hasty: Clock = {
    nowMs: clock.nowMs,
    wallMs: clock.wallMs,
    after(delayMs, run) {
      delays.push(delayMs);
      return clock.after(Math.min(delayMs, 40), run);
    },
  };
  let fired = 0;
  createTimerQueue(hasty).add(100, { dueMs: 100, fire: () => fired++ });
  clock.advance(99);
  assert.equal(fired, 0);
  clock.advance(1);
  assert.equal(fired, 1);
  assert.deepEqual(delays, [100, 60, 20]);
});

test('a timeout that fires may add another timeout, of the same or of another duration', () => {
  const { clock, fired, list, add } = counting();
  const fire = () => {
    fired.push('first');
    add(100, 'same');
    add(20, 'other');
  };
  list.add(100, { dueMs: 100, fire });
  clock.advance(100);
  assert.deepEqual(fired, ['first']);
  assert.equal(clock.pending, 1);
  clock.advance(20);
  assert.deepEqual(fired, ['first', 'other']);
  clock.advance(80);
  assert.deepEqual(fired, ['first', 'other', 'same']);
});

test('a timeout that fires may remove another due timeout', () => {
  const { clock, fired, list, add } = counting();
  const second = { dueMs: 105, fire: () => fired.push('second') };
  list.add(100, second);
  const fire = () => {
    fired.push('first');
    list.remove(second);
  };
  list.add(90, { dueMs: 95, fire });
  add(105, 'third');
  clock.advance(1_000);
  assert.deepEqual(fired, ['first', 'third']);
});

test('a hundred thousand timeouts share one timer, and removing most of them sets no further timer', () => {
  const { clock, delays, fired, list, add } = counting();
  const added = Array.from({ length: 100_000 }, (_, at) => {
    if (at % 1_000 === 0) clock.advance(1);
    return add(at % 2 === 0 ? 30_000 : 60_000, String(at));
  });
  assert.equal(clock.pending, 1);
  assert.deepEqual(delays, [30_000]);
  for (const [at, timeout] of added.entries()) if (at % 10_000 !== 0) list.remove(timeout);
  clock.advance(100_000);
  assert.deepEqual(
    fired,
    Array.from({ length: 10 }, (_, at) => String(at * 10_000)),
  );
  assert.equal(clock.pending, 0);
  assert.ok(delays.length < 30, `${delays.length} timers`);
});

test('a hundred thousand timeouts with the same due time all fire, in order', () => {
  const { clock, fired, add } = counting();
  for (let at = 0; at < 100_000; at++) add(1_000, String(at));
  clock.advance(1_000);
  assert.equal(fired.length, 100_000);
  assert.ok(fired.every((name, at) => name === String(at)));
});

test('fireDue fires due timeouts before the timer does, and isEmpty is true without timeouts', () => {
  const clock = simulatedClock();
  let nowMs = 0;
  const list = createTimerQueue({ nowMs: () => nowMs, after: clock.after });
  const fired: string[] = [];
  assert.equal(list.isEmpty(), true);
  list.add(100, { dueMs: 100, fire: () => fired.push('a') });
  list.add(50, { dueMs: 150, fire: () => fired.push('b') });
  assert.equal(list.isEmpty(), false);
  nowMs = 100;
  list.fireDue();
  assert.deepEqual(fired, ['a']);
  nowMs = 150;
  list.fireDue();
  assert.deepEqual(fired, ['a', 'b']);
  assert.equal(list.isEmpty(), true);
});
