/** Stories of a breaker that trips and waits: what counts as how many, and how long it stays open. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  advanceBreaker,
  countedFailures,
  countFailure,
  countSuccess,
  endWork,
  rateSums,
  recordAdmission,
  recordSettlement,
} from '../../../../src/core/controls/breaker/breaker.ts';
import { openBreaker, openForMs, resetBreaker, waitMs } from '../../../../src/core/controls/breaker/phases.ts';
import { initialBreaker } from '../../../../src/core/controls/breaker/state.ts';
import { tripTimesMax } from '../../../../src/core/limits.ts';
import type { BreakerSettings } from '../../../../src/core/settings.ts';
import { judged, neutral, type Row, settingsOf, story } from './breaker-story.ts';

const rows = (count: number, ...row: Row): readonly Row[] => Array.from({ length: count }, () => row);

test('the fifth failure in a row opens the breaker for a minute, and the sixth call is refused', () => {
  const state = story({}, [
    [0, 'fail', 'closed', { run: 1, failures: 1, requests: 1, inFlight: 0 }],
    [1, 'fail', 'closed', { run: 2 }],
    [2, 'fail', 'closed', { run: 3 }],
    [3, 'fail', 'closed', { run: 4, generation: 1, cause: '', trips: 0 }],
    [4, 'fail', 'open', { run: 0, failures: 5, generation: 2, cause: 'failures', trips: 1, opens: 1, openedAtMs: 4 }],
    [4, 'refused until 60004', 'open', { refused: 1, requests: 6, failures: 5, generation: 2 }],
    [60_003, 'refused until 60004', 'open', { openUntilMs: 60_004, refused: 2, requests: 7 }],
    [60_004, 'ok', 'half-open', { generation: 3, probeSuccesses: 1, successes: 1, requests: 8 }],
    [60_005, 'ok', 'closed', { generation: 4, probeSuccesses: 0, cause: '', opens: 0, trips: 1, successes: 2 }],
  ]);
  assert.deepEqual(state.tripTimesMs, [4]);
});

test('the refusal contains the failures, the limit and the wait', () => {
  const settings = settingsOf({ failureThreshold: 3, recoveryTimeoutSecs: 7 });
  const state = story(settings, [...rows(2, 0, 'fail', 'closed'), [0, 'fail', 'open']]);
  const verdict = judged(state, settings, 1);
  assert.deepEqual(verdict, {
    kind: 'deny',
    code: 'circuit_open',
    control: 'breaker',
    counters: { failures: 3, limit: 3, wait_secs: 7, cause: 'failures' },
    retryAtMs: 7_000,
  });
});

test('a count of failures above the limit is reported unchanged', () => {
  const settings = settingsOf({ trip: 'count_window', failureThreshold: 2, windowCalls: 10 });
  const state = initialBreaker(settings);
  state.run = 9;
  state.heldAtMs = 0;
  const verdict = judged(state, settings, 1);
  assert.ok(verdict.kind === 'deny');
  assert.deepEqual(verdict.counters, { held: 1, failures: 9, limit: 2, wait_secs: 60 });
});

test('a success resets the failures in a row, however far apart the failures are', () => {
  story({ failureThreshold: 3 }, [
    [0, 'fail', 'closed', { run: 1 }],
    [1, 'fail', 'closed', { run: 2 }],
    [2, 'ok', 'closed', { run: 0, successes: 1 }],
    [3, 'fail', 'closed', { run: 1 }],
    [86_400_000, 'fail', 'closed', { run: 2 }],
    [172_800_000, 'fail', 'open', { failures: 5 }],
  ]);
});

test('a neutral outcome leaves the failures in a row unchanged', () => {
  story({ failureThreshold: 2 }, [
    [0, 'fail', 'closed', { run: 1 }],
    [1, 'neutral', 'closed', { run: 1, neutrals: 1, failures: 1, successes: 0, inFlight: 0, ringFilled: 1 }],
    [2, 'fail', 'open'],
  ]);
});

test('cumulative counting keeps every failure until the breaker closes again', () => {
  story({ trip: 'cumulative', failureThreshold: 2, successThreshold: 1 }, [
    [0, 'fail', 'closed', { run: 1 }],
    [1, 'ok', 'closed', { run: 1 }],
    [2, 'fail', 'open', { run: 0 }],
    [60_002, 'ok', 'closed', { run: 0 }],
    [60_003, 'fail', 'closed', { run: 1 }],
  ]);
});

test('a window of calls no longer counts failures that left the window', () => {
  story({ trip: 'count_window', windowCalls: 3, failureThreshold: 2 }, [
    [0, 'fail', 'closed', { ringFailures: 1, ringFilled: 1 }],
    [0, 'ok', 'closed', { ringFailures: 1, ringFilled: 2, run: 1 }],
    [0, 'ok', 'closed', { ringFailures: 1, ringFilled: 3 }],
    [0, 'ok', 'closed', { ringFailures: 0, ringFilled: 3 }],
    [0, 'fail', 'closed', { ringFailures: 1 }],
    [0, 'ok', 'closed', { ringFailures: 1 }],
    [0, 'fail', 'open', { ringFailures: 0, ringFilled: 0, cause: 'failures' }],
  ]);
});

test('a time window drops failures by age, not by the number of later calls', () => {
  // 60 s in six parts: a failure is gone when its part has left the window.
  story({ trip: 'time_window', monitorWindowSecs: 60, failureThreshold: 3 }, [
    [0, 'fail', 'closed'],
    [9_999, 'fail', 'closed'],
    [60_000, 'fail', 'closed'],
    [60_001, 'fail', 'closed'],
    [3_660_000, 'fail', 'closed'],
    [3_660_001, 'fail', 'closed'],
    [3_719_999, 'fail', 'open', { cause: 'failures' }],
  ]);
});

test('a time window counts failures that are younger than the window', () => {
  story({ trip: 'time_window', monitorWindowSecs: 60, failureThreshold: 3 }, [
    [0, 'fail', 'closed'],
    [10_000, 'fail', 'closed'],
    [59_999, 'fail', 'open'],
  ]);
});

test('countedFailures counts as the trip setting says', () => {
  const settings = settingsOf({ trip: 'time_window', monitorWindowSecs: 60, windowCalls: 4, rateWindow: 'calls' });
  const state = story(settings, [
    [0, 'fail', 'closed'],
    [0, 'fail', 'closed'],
    [30_000, 'ok', 'closed'],
    [30_000, 'fail', 'closed'],
  ]);
  const count = (trip: BreakerSettings['trip'], atMs = 30_000) => countedFailures(state, { ...settings, trip }, atMs);
  assert.equal(count('consecutive'), 3);
  assert.equal(count('cumulative'), 3);
  assert.equal(count('count_window'), 3);
  assert.equal(count('time_window'), 3);
  assert.equal(count('time_window', 60_000), 1);
  assert.equal(count('time_window', 90_000), 0);
});

test('a failure rate over a window of calls trips at the threshold once the minimum of calls is reached', () => {
  const rate = { failureRateThreshold: 0.5, rateWindow: 'calls', minimumCalls: 4, failureThreshold: 99 } as const;
  story(rate, [
    [0, 'fail', 'closed'],
    [0, 'ok', 'closed'],
    [0, 'fail', 'closed', { ringFailures: 2, ringFilled: 3 }],
    [0, 'ok', 'closed', { ringFailures: 2, ringFilled: 4 }],
    [0, 'fail', 'open', { cause: 'the failure rate' }],
  ]);
  story(rate, [
    [0, 'ok', 'closed'],
    [0, 'ok', 'closed'],
    [0, 'fail', 'closed'],
    [0, 'fail', 'open', { cause: 'the failure rate' }],
  ]);
  story(rate, [...rows(3, 0, 'ok', 'closed'), ...rows(2, 0, 'fail', 'closed'), [0, 'fail', 'open']]);
});

test('a failure rate over time uses only the calls within the window', () => {
  story({ failureRateThreshold: 1, monitorWindowSecs: 6, minimumCalls: 2, failureThreshold: 99 }, [
    [0, 'ok', 'closed'],
    [1_000, 'fail', 'closed'],
    [5_999, 'fail', 'closed'],
    [6_000, 'fail', 'open', { cause: 'the failure rate' }],
  ]);
});

test('without a rate threshold a window full of failures does not trip the breaker', () => {
  story({ rateWindow: 'calls', windowCalls: 4, minimumCalls: 1 }, [...rows(4, 0, 'fail', 'closed')]);
});

test('with sameErrorOnly only failures with the same error in a row count', () => {
  story({ sameErrorOnly: true, failureThreshold: 3 }, [
    [0, 'fail 7', 'closed', { run: 1, runError: 7 }],
    [0, 'fail 7', 'closed', { run: 2 }],
    [0, 'fail 8', 'closed', { run: 1, runError: 8 }],
    [0, 'fail 7', 'closed', { run: 1, runError: 7 }],
    [0, 'fail 7', 'closed', { run: 2 }],
    [0, 'ok', 'closed', { run: 0 }],
    [0, 'fail 7', 'closed', { run: 1 }],
    [0, 'fail 7', 'closed', { run: 2 }],
    [0, 'fail 7', 'open', { runError: 0 }],
  ]);
  story({ failureThreshold: 3 }, [
    [0, 'fail 7', 'closed'],
    [0, 'fail 8', 'closed'],
    [0, 'fail 9', 'open'],
  ]);
});

test('the retry time of a failure can lengthen the wait of a trip, never shorten the wait', () => {
  story({ failureThreshold: 1 }, [[1_000, 'fail until 90000', 'open', { openUntilMs: 90_000 }]]);
  story({ failureThreshold: 1 }, [[1_000, 'fail until 2000', 'open', { openUntilMs: 61_000 }]]);
  story({ failureThreshold: 1 }, [
    [0, 'fail', 'open', { openUntilMs: 60_000 }],
    [60_000, 'fail until 200000', 'open', { openUntilMs: 200_000, cause: 'a failed probe' }],
    [200_000, 'fail until 200001', 'open', { openUntilMs: 260_000 }],
  ]);
});

test('a retry time that is not a number leaves the wait unchanged', () => {
  story({ failureThreshold: 1 }, [[1_000, 'fail until NaN', 'open', { openUntilMs: 61_000 }]]);
  story({}, [[1_000, 'trip until NaN', 'open', { openUntilMs: 61_000 }]]);
  story({}, [[1_000, 'trip until Infinity', 'open', { openUntilMs: 61_000 }]]);
});

test('with openOnRetryAfter the first failure with a retry time opens the breaker', () => {
  story({ openOnRetryAfter: true }, [
    [1_000, 'fail until 1000', 'closed', { run: 1 }],
    [1_000, 'fail', 'closed', { run: 2 }],
    [1_000, 'fail until 1001', 'open', { cause: 'the callee asked to wait', openUntilMs: 1_001, failures: 3 }],
  ]);
  story({ openOnRetryAfter: true }, [[0, 'fail until 70000', 'open', { openUntilMs: 70_000 }]]);
  story({ openOnRetryAfter: false }, [[0, 'fail until 70000', 'closed', { run: 1 }]]);
});

test('with manual recovery a breaker leaves open only by an operator or a health check, not by time', () => {
  const manual = { recovery: 'manual', failureThreshold: 1, successThreshold: 1 } as const;
  const settings = settingsOf(manual);
  const state = story(manual, [
    [5, 'fail', 'open', { openUntilMs: -1 }],
    [9_000_000_000, 'refused for good', 'open'],
    [9_000_000_001, 'refused for good', 'open', { refused: 2 }],
    [9_000_000_002, 'healthy', 'half-open'],
    [9_000_000_003, 'ok', 'closed'],
    [9_000_000_004, 'fail until 9999999999', 'open', { openUntilMs: -1 }],
  ]);
  const verdict = judged(state, settings, 9_000_000_005);
  assert.equal(verdict.kind === 'deny' && verdict.counters.wait_secs, 'manual');
  story(manual, [[9_000_000_005, 'reset', 'closed', { openUntilMs: 0, openedAtMs: 0 }]], state);
});

test('each opening in a row waits longer, up to the maximum, and closing resets the wait', () => {
  const grown = {
    failureThreshold: 1,
    successThreshold: 1,
    recoveryTimeoutSecs: 10,
    recoveryFactor: 2,
    recoveryMaxSecs: 35,
  };
  story(grown, [
    [0, 'fail', 'open', { openUntilMs: 10_000, opens: 1 }],
    [10_000, 'fail', 'open', { openUntilMs: 30_000, opens: 2 }],
    [30_000, 'fail', 'open', { openUntilMs: 65_000, opens: 3 }],
    [65_000, 'fail', 'open', { openUntilMs: 100_000, opens: 4 }],
    [100_000, 'ok', 'closed', { opens: 0, trips: 4 }],
    [100_001, 'fail', 'open', { openUntilMs: 110_001, opens: 1, trips: 5 }],
  ]);
});

test('a maximum below the recovery timeout does not shorten the wait', () => {
  story({ failureThreshold: 1, recoveryTimeoutSecs: 100, recoveryMaxSecs: 10 }, [
    [0, 'fail', 'open', { openUntilMs: 100_000 }],
  ]);
});

test('jitter only lengthens the wait and depends on the seed and the generation', () => {
  const wait = (jitterSeed: number, generation: number, recoveryJitter = 0.5) => {
    const settings = settingsOf({ recoveryJitter, jitterSeed, recoveryTimeoutSecs: 100 });
    return waitMs({ ...initialBreaker(settings), generation }, settings);
  };
  const waits: number[] = [];
  for (let seed = 0; seed < 20; seed++) {
    for (let generation = 1; generation <= 20; generation++) {
      const ms = wait(seed, generation);
      assert.ok(ms >= 100_000 && ms < 150_000, `${ms} ms with seed ${seed} in generation ${generation}`);
      assert.equal(ms, wait(seed, generation));
      waits.push(ms);
    }
  }
  assert.ok(new Set(waits).size >= 399, 'seeds and generations tell themselves apart');
  const mean = waits.reduce((sum, ms) => sum + ms, 0) / waits.length;
  assert.ok(mean > 122_000 && mean < 128_000, `spread evenly, mean ${mean}`);
  assert.equal(wait(3, 4, 0), 100_000);
  assert.equal(wait(3, 4, 1) - 100_000, 2 * (wait(3, 4) - 100_000));
});

test('the reported wait equals the real wait, including jitter', () => {
  const settings = settingsOf({ recoveryJitter: 1, jitterSeed: 7, slowCallSecs: 1, minimumCalls: 1 });
  const state = initialBreaker(settings);
  recordAdmission(state, settings, 1, 0);
  const verdict = judged(state, settings, 5_000);
  assert.ok(verdict.kind === 'deny');
  advanceBreaker(state, settings, 5_000);
  assert.equal(state.phase, 'open');
  assert.equal(state.openUntilMs, verdict.retryAtMs);
});

test('a call above maxConcurrent is refused, and a slot is free again when the work ends', () => {
  const many = { maxConcurrent: 2, failureThreshold: 9 };
  const state = story(many, [
    [0, 'a begins', 'closed', { inFlight: 1 }],
    [0, 'b begins', 'closed', { inFlight: 2 }],
    [0, 'busy until 1000', 'closed', { inFlight: 2, refused: 1, requests: 3 }],
    [1, 'a times out', 'closed', { inFlight: 2, failures: 1, run: 1 }],
    [1, 'busy', 'closed', { inFlight: 2 }],
    [2, 'a ends', 'closed', { inFlight: 1, failures: 1 }],
    [2, 'c begins', 'closed', { inFlight: 2 }],
    [3, 'b neutral', 'closed', { inFlight: 1 }],
    [3, 'c ok', 'closed', { inFlight: 0 }],
  ]);
  const settings = settingsOf(many);
  recordAdmission(state, settings, 10, 4);
  recordAdmission(state, settings, 11, 4);
  const verdict = judged(state, settings, 4);
  assert.deepEqual(verdict.kind === 'deny' && verdict.counters, { actual: 2, limit: 2 });
});

test('failures in a row continue through every phase until a success or a reset', () => {
  story({ failureThreshold: 2, successThreshold: 2 }, [
    [0, 'fail', 'closed', { streak: 1 }],
    [0, 'neutral', 'closed', { streak: 1 }],
    [0, 'fail', 'open', { streak: 2, run: 0 }],
    [60_000, 'fail', 'open', { streak: 3 }],
    [120_000, 'ok', 'half-open', { streak: 0 }],
    [120_000, 'fail', 'open', { streak: 1 }],
    [120_000, 'reset', 'closed', { streak: 0 }],
    [120_000, 'fail', 'closed', { streak: 1 }],
    [120_000, 'ok', 'closed', { streak: 0 }],
  ]);
});

test('lowered limits apply at once to counts that are already above the new limits', () => {
  const run = story({ failureThreshold: 9 }, rows(4, 0, 'fail', 'closed'));
  story({ failureThreshold: 2 }, [[0, 'fail', 'open']], run);
  const busy = story({}, [
    [0, 'a begins', 'closed'],
    [0, 'b begins', 'closed'],
  ]);
  story({ maxConcurrent: 1 }, [[0, 'busy', 'closed']], busy);
  const probed = story({ failureThreshold: 1, successThreshold: 9 }, [
    [0, 'fail', 'open'],
    [60_000, 'ok', 'half-open'],
    [60_000, 'ok', 'half-open'],
  ]);
  story({ successThreshold: 1 }, [[60_000, 'ok', 'closed']], probed);
});

test('work that ends twice or never began does not make the count of running calls negative', () => {
  const state = initialBreaker(settingsOf({}));
  endWork(state);
  assert.equal(state.inFlight, 0);
  state.inFlight = 1;
  endWork(state);
  endWork(state);
  assert.equal(state.inFlight, 0);
});

test('a slot taken before a trip stays taken after the trip and while a probe runs', () => {
  story({ maxConcurrent: 2, failureThreshold: 1 }, [
    [0, 'a begins', 'closed', { inFlight: 1 }],
    [0, 'fail', 'open', { inFlight: 1 }],
    [1, 'refused until 60000', 'open'],
    [60_000, 'b begins', 'half-open', { inFlight: 2 }],
    [60_000, 'busy', 'half-open'],
    [60_001, 'a ok', 'half-open', { inFlight: 1, late: 1, successes: 0 }],
    [60_001, 'refused until 61001', 'half-open'],
  ]);
});

test('a breaker in observe mode counts and trips like an enforcing one, and refuses nothing', () => {
  const state = story({ mode: 'observe', failureThreshold: 2 }, [
    [0, 'fail', 'closed', { run: 1 }],
    [0, 'fail', 'open', { trips: 1 }],
    [1, 'ok', 'open', { late: 1, requests: 3, refused: 0 }],
    [1, 'fail', 'open', { late: 2, openUntilMs: 60_000 }],
    [60_000, 'a begins', 'half-open', { generation: 3 }],
    [60_000, 'ok', 'half-open', { late: 3, probeSuccesses: 0 }],
    [60_001, 'a ok', 'half-open', { probeSuccesses: 1 }],
    [60_002, 'ok', 'closed'],
  ]);
  assert.equal(state.refused, 0);
});

test('a breaker in off mode counts no outcomes and keeps its phase, but counts running calls', () => {
  const off = { mode: 'off', failureThreshold: 1, slowCallSecs: 1, minimumCalls: 1 } as const;
  const state = story(off, [
    [0, 'fail', 'closed', { failures: 0, run: 0, requests: 0, inFlight: 0 }],
    [0, 'ok', 'closed', { successes: 0, late: 0 }],
    [0, 'a begins', 'closed', { inFlight: 1, requests: 0 }],
    [9_000, 'b begins', 'closed', { inFlight: 2, overdue: 0 }],
    [9_000, 'a ok', 'closed', { inFlight: 1 }],
    [9_000, 'b ok', 'closed', { inFlight: 0, running: [0, 0, 0, 0, 0, 0, 0, 0, 0] }],
  ]);
  advanceBreaker(state, settingsOf(off), 99_000);
  assert.equal(state.phase, 'closed');
  assert.deepEqual(recordAdmission(state, settingsOf(off), 'x', 5), { id: 'x', generation: 1, probe: false, atMs: 5 });
});

test('a breaker switched off while open or half-open grants no probe that could expire later', () => {
  const on = { failureThreshold: 1 };
  const off = { ...on, mode: 'off' } as const;
  const state = story(on, [[0, 'fail', 'open', { generation: 2 }]]);
  story(off, [[60_000, 'a begins', 'open', { generation: 2, probes: [] }]], state);
  story(on, [[60_000, 'ok', 'half-open', { probes: [] }]], state);
  story(off, [[60_001, 'a begins', 'half-open', { probes: [] }]], state);
  advanceBreaker(state, settingsOf(off), 999_000);
  story(on, [[999_000, 'ok', 'closed', { probes: [] }]], state);
});

test('a held breaker refuses without a retry time in every phase, and a release uncovers the current phase', () => {
  const quick = { failureThreshold: 1, successThreshold: 1 };
  story(quick, [
    [0, 'hold', 'closed'],
    [1, 'refused for good', 'closed', { refused: 1 }],
    [2, 'release', 'closed'],
    [2, 'ok', 'closed'],
    [3, 'fail', 'open', { openUntilMs: 60_003 }],
    [4, 'hold', 'open'],
    [60_003, 'refused for good', 'open', { openUntilMs: 60_003 }],
    [60_004, 'release', 'open'],
    [60_004, 'a begins', 'half-open'],
    [60_005, 'hold', 'half-open'],
    [60_005, 'refused for good', 'half-open'],
    [60_006, 'a ok', 'closed', { successes: 2 }],
    [60_006, 'refused for good', 'closed'],
    [60_007, 'release', 'closed'],
    [60_007, 'ok', 'closed'],
  ]);
});

test('the outcome of a call that was running when the breaker was held is counted', () => {
  story({ failureThreshold: 2 }, [
    [0, 'a begins', 'closed'],
    [0, 'b begins', 'closed'],
    [0, 'hold', 'closed'],
    [1, 'a fails', 'closed', { run: 1 }],
    [1, 'b fails', 'open'],
    [1, 'release', 'open'],
    [1, 'refused until 60001', 'open'],
  ]);
});

test('a breaker held at time zero refuses calls', () => {
  story({}, [
    [0, 'hold', 'closed', { heldAtMs: 0 }],
    [0, 'refused for good', 'closed'],
  ]);
});

test('a reset clears every count; running calls settle late, and a hold remains', () => {
  const state = story({ failureThreshold: 2, rateWindow: 'calls' }, [
    [0, 'a begins', 'closed'],
    [0, 'ok', 'closed'],
    [0, 'neutral', 'closed'],
    [0, 'fail', 'closed'],
    [0, 'fail', 'open'],
    [1, 'refused', 'open'],
    [1, 'hold', 'open'],
    [2, 'reset', 'closed', { heldAtMs: 1, inFlight: 1 }],
    [3, 'release', 'closed'],
    [3, 'a fails', 'closed', { late: 1, failures: 0, inFlight: 0 }],
    [4, 'reset', 'closed'],
  ]);
  const { generation, ...rest } = state;
  const { generation: first, ...fresh } = initialBreaker(settingsOf({ rateWindow: 'calls' }));
  assert.deepEqual(rest, fresh);
  assert.ok(generation > first, 'a generation only grows');
});

test('a reset from half-open removes the probes and sets the time spent open to zero', () => {
  const state = story({ failureThreshold: 1 }, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open', { openMs: 60_000 }],
    [60_001, 'reset', 'closed', { probes: [], openMs: 0, opens: 0, trips: 0, tripTimesMs: [], cause: '' }],
    [60_002, 'a fails', 'closed', { late: 1 }],
  ]);
  resetBreaker(state);
  assert.equal(state.late, 0);
});

test('a late result changes only the count of late results', () => {
  const quick = { failureThreshold: 1, successThreshold: 1 };
  story(quick, [
    [0, 'a begins', 'closed'],
    [0, 'b begins', 'closed'],
    [0, 'c begins', 'closed'],
    [0, 'd begins', 'closed'],
    [0, 'fail', 'open', { openUntilMs: 60_000, inFlight: 4 }],
    [50_000, 'a fails', 'open', { openUntilMs: 60_000, late: 1, failures: 1, inFlight: 3 }],
    [50_001, 'b ok', 'open', { late: 2, successes: 0 }],
    [60_000, 'p begins', 'half-open'],
    [60_001, 'c ok', 'half-open', { late: 3, probeSuccesses: 0 }],
    [60_002, 'p ok', 'closed'],
    [60_003, 'd fails', 'closed', { late: 4, run: 0 }],
  ]);
});

test('a result that arrives while the breaker is open is late, also in the current generation', () => {
  const settings = settingsOf({ failureThreshold: 1 });
  const state = story(settings, [[0, 'fail', 'open']]);
  recordSettlement(
    state,
    settings,
    { id: 9, generation: state.generation, probe: false, atMs: 0 },
    { kind: 'success' },
    1,
  );
  assert.equal(state.late, 1);
  assert.equal(state.phase, 'open');
});

test('a neutral result of an earlier generation is late, too', () => {
  const settings = settingsOf({ failureThreshold: 1 });
  const state = story(settings, [[0, 'fail', 'open']]);
  recordSettlement(state, settings, { id: 9, generation: 1, probe: false, atMs: 0 }, neutral, 1);
  assert.equal(state.late, 1);
  assert.equal(state.neutrals, 0);
});

test('a manual trip opens the breaker from any phase, for the usual wait or until a given time', () => {
  story({}, [
    [100, 'trip', 'open', { openUntilMs: 60_100, cause: 'a trip by hand', trips: 1, generation: 2 }],
    [200, 'trip until 900000', 'open', { openUntilMs: 900_000, trips: 2, generation: 3, openMs: 100 }],
    [900_000, 'a begins', 'half-open'],
    [900_001, 'trip', 'open', { openUntilMs: 960_001 }],
    [900_002, 'a ok', 'open', { late: 1 }],
  ]);
});

test('the breaker keeps a bounded number of trip times, the most recent ones', () => {
  const settings = settingsOf({});
  const state = initialBreaker(settings);
  for (let at = 1; at <= tripTimesMax + 3; at++) openBreaker(state, settings, at, 'again');
  assert.equal(state.tripTimesMs.length, tripTimesMax);
  assert.equal(state.tripTimesMs[0], 4);
  assert.equal(state.tripTimesMs.at(-1), tripTimesMax + 3);
  assert.equal(state.trips, tripTimesMax + 3);
});

test('the time spent open ends with the open period, not with the next call', () => {
  const state = story({ failureThreshold: 1, successThreshold: 1 }, [
    [1_000, 'fail', 'open'],
    [2_000, 'look', 'open'],
  ]);
  assert.equal(openForMs(state, 2_000), 1_000);
  assert.equal(openForMs(state, 61_000), 60_000);
  assert.equal(openForMs(state, 99_000), 60_000);
  assert.equal(openForMs(state, 0), 0, 'before it opened');
  story(
    { failureThreshold: 1, successThreshold: 1 },
    [
      [99_000, 'fail', 'open', { openMs: 60_000 }],
      [159_000, 'a begins', 'half-open', { openMs: 120_000 }],
      [159_001, 'a ok', 'closed', { openMs: 0 }],
    ],
    state,
  );
  assert.equal(openForMs(state, 200_000), 0);
  const manual = story({ failureThreshold: 1, recovery: 'manual' }, [[1_000, 'fail', 'open']]);
  assert.equal(openForMs(manual, 99_000), 98_000);
});

test('an open period that ends at time zero ends and is measured like any other', () => {
  const state = story({ failureThreshold: 1 }, [
    [-60_000, 'fail', 'open', { openUntilMs: 0 }],
    [-1, 'refused until 0', 'open'],
  ]);
  assert.equal(openForMs(state, 5), 60_000);
  story({ failureThreshold: 1 }, [[0, 'ok', 'half-open']], state);
});

test('a clock that goes back or below zero can lengthen a refusal, and later calls still settle normally', () => {
  story({ failureThreshold: 1, successThreshold: 1, trip: 'time_window', monitorWindowSecs: 6, rateWindow: 'calls' }, [
    [100_000, 'ok', 'closed'],
    [50_000, 'ok', 'closed'],
    [-5_000, 'ok', 'closed'],
    [-5_000, 'fail', 'open', { openUntilMs: 55_000 }],
    [-9_000, 'refused until 55000', 'open'],
    [55_000, 'a begins', 'half-open'],
    [-55_000, 'refused', 'half-open'],
    [-55_000, 'a ok', 'closed'],
    [-54_000, 'ok', 'closed'],
  ]);
});

test('a seed and a generation give the same wait in every release, so that journals can be replayed', () => {
  const settings = settingsOf({ recoveryJitter: 1, jitterSeed: 7 });
  const waits = [1, 2, 3].map((generation) =>
    Math.floor(waitMs({ ...initialBreaker(settings), generation }, settings)),
  );
  assert.deepEqual(waits, [78_269, 116_524, 110_098]);
});

test('countSuccess counts a quick success, and resets the run only if failures must be in a row', () => {
  const settings = settingsOf({ trip: 'count_window', rateWindow: 'calls', windowCalls: 4 });
  const state = { ...initialBreaker(settings), run: 3, streak: 3, inFlight: 1 };
  countSuccess(state, settings);
  const { successes, streak, run, inFlight } = state;
  assert.deepEqual([successes, streak, run, inFlight], [1, 0, 3, 0]);
  assert.deepEqual(rateSums(state, settings, 0), { calls: 1, failures: 0, slow: 0 });
  const inARow = settingsOf({});
  const other = { ...initialBreaker(inARow), run: 3 };
  countSuccess(other, inARow);
  assert.equal(other.run, 0);
});

test('countFailure counts a failure, and declines a failure that may open the breaker', () => {
  const settings = settingsOf({ rateWindow: 'calls', failureThreshold: 3, sameErrorOnly: true });
  const failed = { kind: 'failure', error: 'ToolError', errorFingerprint: 7 } as const;
  const state = { ...initialBreaker(settings), inFlight: 4 };
  assert.equal(countFailure(state, settings, { ...failed, retryAtMs: 9_000 }), false, 'somebody asks to wait');
  assert.deepEqual(state, { ...initialBreaker(settings), inFlight: 4 });
  assert.ok(countFailure(state, settings, failed) && countFailure(state, settings, failed));
  assert.equal(countFailure(state, settings, failed), false, 'the third may open');
  assert.deepEqual([state.failures, state.streak, state.run, state.inFlight], [2, 2, 2, 2]);
  assert.deepEqual(rateSums(state, settings, 0), { calls: 2, failures: 2, slow: 0 });
  const other = { ...state, run: 1 };
  assert.ok(countFailure(other, settings, { ...failed, errorFingerprint: 8 }));
  assert.deepEqual([other.run, other.runError], [1, 8]);
});
