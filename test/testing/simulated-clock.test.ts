import assert from 'node:assert/strict';
import { test } from 'node:test';
import { promisesSettled, simulatedClock, simulatedWallMs } from '../../src/testing/simulated-clock.ts';

test('time does not advance by itself', () => {
  const clock = simulatedClock(100);
  assert.equal(clock.nowMs(), 100);
  assert.equal(clock.wallMs(), simulatedWallMs);
  clock.advance(0);
  assert.equal(clock.nowMs(), 100);
  clock.advance(25);
  assert.equal(clock.nowMs(), 125);
  assert.equal(clock.wallMs(), simulatedWallMs + 25);
});

test('timers run in the order of their due times, and timers with equal due times in the order set', () => {
  const clock = simulatedClock();
  const ran: string[] = [];
  const note = (name: string) => () => void ran.push(`${name}@${clock.nowMs()}`);
  clock.after(30, note('late'));
  clock.after(10, note('early'));
  clock.after(10, note('early too'));
  clock.after(31, note('not yet'));
  clock.advance(30);
  assert.deepEqual(ran, ['early@10', 'early too@10', 'late@30']);
  assert.equal(clock.pending, 1);
  assert.equal(clock.nowMs(), 30);
});

test('a timer set by a timer runs in the same advance if it is due in that advance', () => {
  const clock = simulatedClock();
  const ran: number[] = [];
  const again = () => {
    ran.push(clock.nowMs());
    clock.after(1000, again);
  };
  clock.after(1000, again);
  clock.advance(3500);
  assert.deepEqual(ran, [1000, 2000, 3000]);
  assert.equal(clock.nowMs(), 3500);
});

test('a cancelled timer never runs, and cancelling twice is harmless', () => {
  const clock = simulatedClock();
  let ran = 0;
  const cancel = clock.after(5, () => ran++);
  cancel();
  cancel();
  clock.advance(10);
  assert.equal(ran, 0);
  assert.equal(clock.pending, 0);
});

test('a timer with a negative delay is due now', () => {
  const clock = simulatedClock(50);
  let atMs = -1;
  clock.after(-20, () => {
    atMs = clock.nowMs();
  });
  clock.advance(0);
  assert.equal(atMs, 50);
});

test('the clock rejects a negative advance and an advance that is no number', () => {
  const clock = simulatedClock();
  assert.throws(() => clock.advance(-1), { code: 'clock_backwards', message: /got -1/ });
  assert.throws(() => clock.advance(Number.NaN), { code: 'clock_invalid', message: /got NaN/ });
  assert.throws(() => clock.after(Number.POSITIVE_INFINITY, () => {}), { code: 'clock_invalid' });
  assert.throws(() => simulatedClock(Number.POSITIVE_INFINITY), { code: 'clock_invalid' });
  assert.equal(clock.nowMs(), 0);
});

test('a jump of the wall clock changes neither monotonic time nor timers', () => {
  const clock = simulatedClock();
  let ran = 0;
  clock.after(100, () => ran++);
  clock.wallJump(3_600_000);
  assert.equal(clock.wallMs(), simulatedWallMs + 3_600_000);
  assert.equal(clock.nowMs(), 0);
  assert.equal(ran, 0);
  clock.wallJump(-7_200_000);
  assert.equal(clock.wallMs(), simulatedWallMs - 3_600_000);
});

test('a timer that sets itself again without delay is reported as an error', () => {
  const clock = simulatedClock();
  const spin = () => void clock.after(0, spin);
  clock.after(0, spin);
  assert.throws(() => clock.advance(1), { code: 'clock_stuck' });
});

test('elapse settles promises between timers, so successive waits end in the same elapse', async () => {
  const clock = simulatedClock();
  const woke: number[] = [];
  const sleep = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const sleeper = (async () => {
    for (const ms of [1000, 2000, 4000]) {
      await sleep(ms);
      woke.push(clock.nowMs());
    }
  })();
  await clock.elapse(7000);
  assert.deepEqual(woke, [1000, 3000, 7000]);
  await sleeper;
});

test('promisesSettled waits for chains of promises', async () => {
  let depth = 0;
  const dive = async (): Promise<void> => {
    if (depth++ < 100) await dive();
  };
  void dive();
  await promisesSettled();
  assert.equal(depth, 101);
});
