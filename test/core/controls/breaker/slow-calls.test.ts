/** Stories of slow calls: those that ended late, and those that still run and would never be counted otherwise. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AdmittedCall, recordAdmission, recordSettlement } from '../../../../src/core/controls/breaker/breaker.ts';
import { initialBreaker } from '../../../../src/core/controls/breaker/state.ts';
import { countOverdue, countRunning } from '../../../../src/core/controls/breaker/window.ts';
import { failure, judged, type Row, settingsOf, story } from './breaker-story.ts';

/** A call is slow past 8 s; running ones are looked at in steps of one second. */
const slow = { slowCallSecs: 8, minimumCalls: 2, failureThreshold: 99, rateWindow: 'calls', windowCalls: 10 } as const;

test('the breaker trips when every call in the window was slow and the minimum of calls is reached', () => {
  story(slow, [
    [0, 'a begins', 'closed'],
    [0, 'b begins', 'closed'],
    [8_001, 'a ok', 'closed', { ringSlow: 1, ringFilled: 1, successes: 1 }],
    [8_002, 'b ok', 'open', { cause: 'slow calls', trips: 1 }],
  ]);
});

test('a call that takes exactly the limit is not slow', () => {
  story({ ...slow, minimumCalls: 1 }, [
    [0, 'a begins', 'closed'],
    [8_000, 'a ok', 'closed', { ringSlow: 0 }],
    [8_000, 'b begins', 'closed'],
    [16_001, 'b ok', 'closed', { ringSlow: 1 }],
  ]);
  story({ ...slow, minimumCalls: 1 }, [
    [0, 'a begins', 'closed'],
    [8_001, 'a ok', 'open'],
  ]);
});

test('the breaker trips when the share of slow calls equals the threshold', () => {
  story({ ...slow, slowRateThreshold: 0.5, minimumCalls: 4 }, [
    [0, 'a begins', 'closed'],
    [0, 'b begins', 'closed'],
    [0, 'ok', 'closed'],
    [8_500, 'a ok', 'closed', { ringSlow: 1 }],
    [8_500, 'ok', 'closed', { ringFilled: 3 }],
    [8_500, 'b ok', 'open'],
  ]);
  story({ ...slow, slowRateThreshold: 0.5, minimumCalls: 4 }, [
    [0, 'a begins', 'closed'],
    [0, 'b begins', 'closed'],
    [0, 'ok', 'closed'],
    [0, 'ok', 'closed'],
    [0, 'ok', 'closed'],
    [8_500, 'a ok', 'closed'],
    [8_500, 'b ok', 'closed', { ringSlow: 2, ringFilled: 5 }],
  ]);
});

test('the breaker trips when the share of slow calls and the number of calls are above their limits', () => {
  story({ ...slow, slowRateThreshold: 0.4, minimumCalls: 2 }, [
    [0, 'a begins', 'closed'],
    [0, 'b begins', 'closed'],
    [0, 'c begins', 'closed'],
    [0, 'ok', 'closed'],
    [0, 'ok', 'closed'],
    [8_500, 'a ok', 'closed', { ringSlow: 1, ringFilled: 3 }],
    [8_500, 'b ok', 'open'],
  ]);
});

test('a slow failure counts as slow and as failed, and can trip the breaker for being slow', () => {
  story({ ...slow, minimumCalls: 1 }, [
    [0, 'a begins', 'closed'],
    [9_000, 'a fails', 'open', { cause: 'slow calls', failures: 1 }],
  ]);
});

test('a quick success does not open the breaker because of other slow calls', () => {
  story({ ...slow, slowRateThreshold: 0.5 }, [
    [0, 'a begins', 'closed'],
    [0, 'b begins', 'closed'],
    [8_500, 'a ok', 'closed'],
    [8_600, 'ok', 'closed', { ringSlow: 1, ringFilled: 2 }],
  ]);
});

test('running calls count as slow once overdue: the next call is refused and the breaker opens', () => {
  story({ ...slow, recoveryTimeoutSecs: 30 }, [
    [0, 'a begins', 'closed'],
    [500, 'b begins', 'closed'],
    [8_999, 'c begins', 'closed', { overdue: 0 }],
    [9_000, 'refused until 39000', 'open', { cause: 'slow calls', openUntilMs: 39_000, trips: 1, inFlight: 3 }],
    [9_001, 'a ok', 'open', { late: 1, inFlight: 2 }],
    [39_000, 'p begins', 'half-open'],
  ]);
});

test('a running call is overdue after its limit, at most an eighth of the limit late', () => {
  const settings = settingsOf({ ...slow, minimumCalls: 1 });
  for (let beganMs = 0; beganMs < 3_000; beganMs += 100) {
    const state = initialBreaker(settings);
    recordAdmission(state, settings, 1, beganMs);
    assert.equal(judged(state, settings, beganMs + 8_000).kind, 'allow', `at the limit, begun at ${beganMs}`);
    assert.equal(judged(state, settings, beganMs + 9_000).kind, 'deny', `an eighth later, begun at ${beganMs}`);
  }
});

test('below the minimum of calls slow calls do not trip the breaker', () => {
  const settings = settingsOf({ ...slow, minimumCalls: 3 });
  const state = initialBreaker(settings);
  recordAdmission(state, settings, 1, 0);
  recordAdmission(state, settings, 2, 0);
  assert.equal(judged(state, settings, 60_000).kind, 'allow');
  recordAdmission(state, settings, 3, 60_000);
  assert.equal(judged(state, settings, 60_001).kind, 'allow');
  assert.equal(judged(state, settings, 69_000).kind, 'deny');
});

test('running and ended calls count together for the share of slow calls', () => {
  const half = settingsOf({ ...slow, slowRateThreshold: 0.5, minimumCalls: 4 });
  const quick: Row = [0, 'ok', 'closed'];
  const state = story(half, [quick, quick, [0, 'a begins', 'closed'], [0, 'b begins', 'closed']]);
  assert.equal(judged(state, half, 8_999).kind, 'allow');
  assert.equal(judged(state, half, 9_000).kind, 'deny');
  const more = story(half, [quick, quick, quick, [0, 'a begins', 'closed'], [0, 'b begins', 'closed']]);
  assert.equal(judged(more, half, 9_000).kind, 'allow');
});

test('a slow call is counted once: as overdue while running, as slow after its end', () => {
  const settings = settingsOf({ ...slow, minimumCalls: 99 });
  const state = initialBreaker(settings);
  const first = recordAdmission(state, settings, 1, 0);
  const second = recordAdmission(state, settings, 2, 1_000);
  const third = recordAdmission(state, settings, 3, 12_000);
  const total = (atMs: number) => countOverdue(state, settings, atMs);
  assert.equal(state.overdue, 2);
  assert.equal(total(20_999), 2);
  assert.equal(total(21_000), 3);
  recordSettlement(state, settings, first, { kind: 'success' }, 13_000);
  assert.equal(total(13_000), 1);
  assert.equal(state.ringSlow, 1);
  recordSettlement(state, settings, second, { kind: 'neutral', why: 'cancelled' }, 14_000);
  assert.equal(total(14_000), 0);
  assert.equal(state.ringSlow, 1);
  recordSettlement(state, settings, third, failure(), 14_000);
  assert.equal(total(99_000), 0);
  assert.deepEqual(state.running, [0, 0, 0, 0, 0, 0, 0, 0, 0]);
  assert.equal(state.ringFilled, 2);
});

test('of many running calls exactly those that began at least nine slots ago are overdue', () => {
  const settings = settingsOf({ ...slow, minimumCalls: 9_999 });
  const state = initialBreaker(settings);
  const began: AdmittedCall[] = [];
  let seed = 7;
  const chance = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 0x1_0000_0000;
  };
  for (let at = 0; at < 400_000; at += 250) {
    if (chance() < 0.6) began.push(recordAdmission(state, settings, at, at));
    if (chance() < 0.55) {
      const [call] = began.splice(Math.floor(chance() * began.length), 1);
      if (call !== undefined) recordSettlement(state, settings, call, { kind: 'success' }, at);
    }
    const slots = Math.floor(at / 1_000);
    const expected = began.filter((call) => slots - Math.floor(call.atMs / 1_000) >= 9).length;
    assert.equal(countOverdue(state, settings, at), expected, `at ${at}`);
  }
  assert.ok(began.length > 20, 'some are left');
});

test('after a trip the calls that still run settle late and are no longer overdue', () => {
  const state = story({ ...slow, minimumCalls: 1, successThreshold: 1 }, [
    [0, 'a begins', 'closed'],
    [9_000, 'refused', 'open', { overdue: 0 }],
    [69_000, 'ok', 'closed', { overdue: 0 }],
    [90_000, 'ok', 'closed', { overdue: 0, inFlight: 1 }],
    [90_001, 'a ok', 'closed', { late: 1, inFlight: 0, overdue: 0 }],
  ]);
  assert.deepEqual(state.running, [0, 0, 0, 0, 0, 0, 0, 0, 0]);
});

test('without slow_call_secs the duration of calls is ignored', () => {
  const settings = settingsOf({ minimumCalls: 1 });
  const state = initialBreaker(settings);
  assert.equal(state.running, null);
  const call = recordAdmission(state, settings, 1, 0);
  assert.equal(judged(state, settings, 9e9).kind, 'allow');
  assert.equal(countOverdue(state, settings, 9e9), 0);
  recordSettlement(state, settings, call, { kind: 'success' }, 9e9);
  assert.equal(state.phase, 'closed');
  assert.deepEqual(
    state.buckets?.filter((count) => count > 0),
    [1],
  );
});

test('after the clock went back an ended call is not counted as running', () => {
  const settings = settingsOf({ ...slow, minimumCalls: 1 });
  for (const backMs of [500, 5_000, 50_000, -700, -90_000]) {
    const state = initialBreaker(settings);
    recordSettlement(state, settings, recordAdmission(state, settings, 1, 20_000), { kind: 'success' }, 20_000);
    const call = recordAdmission(state, settings, 2, backMs);
    recordSettlement(state, settings, call, { kind: 'success' }, backMs + 10);
    assert.equal(countOverdue(state, settings, 1e7), 0, `back to ${backMs}`);
    assert.deepEqual(state.running, [0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert.equal(state.phase, 'closed');
  }
});

test('ending a call that began after the clock went back does not end another running call', () => {
  const settings = settingsOf({ ...slow, minimumCalls: 99 });
  const state = initialBreaker(settings);
  recordAdmission(state, settings, 1, 20_000);
  const back = recordAdmission(state, settings, 2, 3_000);
  recordSettlement(state, settings, back, { kind: 'success' }, 3_001);
  assert.equal(
    state.running?.reduce((sum, count) => sum + count, 0),
    1,
  );
  assert.equal(countOverdue(state, settings, 29_000), 1);
});

test('countRunning adds and removes running calls at the same time, and never removes more than were added', () => {
  const settings = settingsOf({ slowCallSecs: 8 });
  const state = initialBreaker(settings);
  assert.equal(countRunning(state, -1), false);
  assert.ok(countRunning(state, 1) && countRunning(state, 1) && countRunning(state, -1));
  assert.equal(countOverdue(state, settings, 9_000), 1);
  assert.ok(countRunning(state, -1));
  assert.deepEqual(state.running, [0, 0, 0, 0, 0, 0, 0, 0, 0]);
  assert.equal(countRunning(initialBreaker(settingsOf({})), 1), false, 'nobody looks');
});
