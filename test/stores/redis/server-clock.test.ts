import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServerClock } from '../../../src/stores/redis/server-clock.ts';

/** A store's time on a machine whose clock stands where it is put. */
function story() {
  let machineMs = 1_000;
  const { clock, observe: hear } = createServerClock({
    nowMs: () => machineMs,
    wallMs: () => 5_000,
    after: () => () => {},
  });
  /** An answer that took so long, and was written when this share of that was over. */
  const answer = (serverMs: number, tookMs: number, share = 0.5) => {
    const askedMs = machineMs;
    machineMs += tookMs;
    hear(askedMs, machineMs, serverMs + tookMs * share);
  };
  const pass = (ms: number) => {
    machineMs += ms;
  };
  return { clock, answer, pass };
}

test('before the clock is first read, the quickest answer sets the time', () => {
  const { clock, answer } = story();
  answer(70_000, 40, 1);
  answer(70_040, 2);
  answer(70_042, 30, 0);
  assert.equal(clock.nowMs(), 70_072);
});

test('once read, the clock never goes back: a quicker answer only slows it', () => {
  const { clock, answer, pass } = story();
  answer(70_000, 40, 1);
  const before = clock.nowMs();
  assert.equal(before, 70_060);
  pass(1_000);
  answer(71_040, 0);
  assert.equal(clock.nowMs(), before + 1_000 - 5);
});
