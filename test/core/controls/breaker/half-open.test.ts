/** Stories of the half-open phase: who may probe, what a probe decides, and what becomes of one that never ends. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  advanceBreaker,
  judgeBreaker,
  recordAdmission,
  recordSettlement,
  renewProbe,
} from '../../../../src/core/controls/breaker/breaker.ts';
import { initialBreaker } from '../../../../src/core/controls/breaker/state.ts';
import { failure, judged, settingsOf, story } from './breaker-story.ts';

const quick = { failureThreshold: 1 };

test('while one probe runs every other call is refused with a short retry time', () => {
  story(quick, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open', { probes: [{ id: 2, endMs: 75_000 }], generation: 3, inFlight: 1 }],
    [60_000, 'refused until 61000', 'half-open', { refused: 1 }],
    [61_500, 'refused until 62500', 'half-open', { generation: 3 }],
    [61_600, 'a ok', 'half-open', { probes: [], probeSuccesses: 1, successes: 1 }],
    [61_600, 'b begins', 'half-open', { probes: [{ id: 3, endMs: 76_600 }] }],
    [61_700, 'b ok', 'closed', { probes: [], probeSuccesses: 0, generation: 4, opens: 0 }],
  ]);
});

test('three permits allow three probes at once, and the successes of the probes add up', () => {
  story({ ...quick, halfOpenPermits: 3, successThreshold: 3 }, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open'],
    [60_000, 'b begins', 'half-open'],
    [60_000, 'c begins', 'half-open', { inFlight: 3 }],
    [60_000, 'refused until 61000', 'half-open'],
    [60_001, 'b ok', 'half-open', { probeSuccesses: 1 }],
    [60_001, 'd begins', 'half-open'],
    [60_001, 'refused', 'half-open'],
    [60_002, 'a ok', 'half-open', { probeSuccesses: 2 }],
    [60_003, 'd ok', 'closed'],
    [60_004, 'c fails', 'closed', { late: 1, run: 0 }],
  ]);
});

test('one failed probe opens the breaker at once, and the results of the other probes are late', () => {
  story({ ...quick, halfOpenPermits: 2, successThreshold: 5 }, [
    [0, 'fail', 'open', { trips: 1 }],
    [60_000, 'a begins', 'half-open'],
    [60_000, 'b begins', 'half-open'],
    [60_001, 'b ok', 'half-open', { probeSuccesses: 1 }],
    [60_001, 'c begins', 'half-open'],
    [60_002, 'a fails', 'open', { cause: 'a failed probe', trips: 2, opens: 2, failures: 2, openUntilMs: 120_002 }],
    [60_003, 'c ok', 'open', { late: 1, successes: 1 }],
  ]);
});

test('a neutral probe frees its slot and does not count as a success', () => {
  story(quick, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open'],
    [60_001, 'a neutral', 'half-open', { probes: [], probeSuccesses: 0, neutrals: 1, generation: 3 }],
    [60_001, 'ok', 'half-open', { probeSuccesses: 1 }],
    [60_002, 'neutral', 'half-open', { probeSuccesses: 1, neutrals: 2 }],
    [60_003, 'ok', 'closed'],
  ]);
});

test('a probe without an outcome counts as a failure at the first event after its lease ended', () => {
  story(quick, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open'],
    [74_999, 'refused until 75999', 'half-open'],
    [75_000, 'refused until 135000', 'open', { cause: 'a probe that never came back', trips: 2, openUntilMs: 135_000 }],
    [75_001, 'a ok', 'open', { late: 1, openUntilMs: 135_000 }],
    [135_000, 'ok', 'half-open', { probeSuccesses: 1 }],
  ]);
});

test('an event long after the end of a lease opens the breaker for the wait from that event', () => {
  story(quick, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open'],
    [99_000, 'refused until 159000', 'open'],
  ]);
});

test('one expired probe of three opens the breaker', () => {
  story({ ...quick, halfOpenPermits: 3 }, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open'],
    [70_000, 'b begins', 'half-open'],
    [75_000, 'refused until 135000', 'open'],
  ]);
});

test('with leaseExpiry neutral an expired lease only frees its slot', () => {
  const patient = { ...quick, leaseExpiry: 'neutral' } as const;
  story(patient, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open'],
    [74_999, 'refused until 75999', 'half-open'],
    [75_000, 'b begins', 'half-open', { probes: [{ id: 3, endMs: 90_000 }], generation: 3, trips: 1 }],
    [75_001, 'a fails', 'half-open', { late: 1, failures: 1, probes: [{ id: 3, endMs: 90_000 }] }],
    [75_001, 'refused until 76001', 'half-open'],
    [75_002, 'b ok', 'half-open', { probeSuccesses: 1 }],
    [75_003, 'ok', 'closed'],
  ]);
});

test('of three permits only those with an expired lease are free again', () => {
  story({ ...quick, leaseExpiry: 'neutral', halfOpenPermits: 2 }, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open'],
    [70_000, 'b begins', 'half-open'],
    [74_999, 'refused', 'half-open'],
    [
      75_000,
      'c begins',
      'half-open',
      {
        probes: [
          { id: 3, endMs: 85_000 },
          { id: 4, endMs: 90_000 },
        ],
      },
    ],
    [75_000, 'refused', 'half-open'],
    [
      85_000,
      'd begins',
      'half-open',
      {
        probes: [
          { id: 4, endMs: 90_000 },
          { id: 5, endMs: 100_000 },
        ],
      },
    ],
  ]);
});

test('a refusal removes expired leases as an admission does', () => {
  story({ ...quick, leaseExpiry: 'neutral', halfOpenPermits: 2 }, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open'],
    [75_000, 'hold', 'half-open'],
    [75_000, 'refused for good', 'half-open', { probes: [] }],
  ]);
});

test('a lease can be renewed before its end, and not at its end or later', () => {
  story(quick, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open'],
    [70_000, 'a renews', 'half-open', { probes: [{ id: 2, endMs: 85_000 }] }],
    [84_999, 'a renews', 'half-open', { probes: [{ id: 2, endMs: 99_999 }] }],
    [99_999, 'a renews', 'half-open', { probes: [{ id: 2, endMs: 99_999 }] }],
    [99_999, 'refused', 'open'],
    [99_999, 'a renews', 'open', { probes: [] }],
  ]);
});

test('a renewal extends only the lease of its own probe', () => {
  const settings = settingsOf({ ...quick, halfOpenPermits: 2 });
  const state = story(settings, [[0, 'fail', 'open']]);
  const first = recordAdmission(state, settings, 'a', 60_000);
  const second = recordAdmission(state, settings, 'b', 61_000);
  renewProbe(state, settings, second, 62_000);
  assert.deepEqual(state.probes, [
    { id: 'a', endMs: 75_000 },
    { id: 'b', endMs: 77_000 },
  ]);
  renewProbe(state, settings, { ...first, probe: false }, 63_000);
  renewProbe(state, settings, { ...first, generation: first.generation - 1 }, 63_000);
  renewProbe(state, settings, { ...first, id: 'nobody' }, 63_000);
  assert.equal(state.probes[0]?.endMs, 75_000);
});

test('a probe settles once, and a second settlement is late', () => {
  story({ ...quick, successThreshold: 2 }, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open'],
    [60_001, 'a ok', 'half-open', { probeSuccesses: 1 }],
    [60_002, 'a ok', 'half-open', { probeSuccesses: 1, late: 1 }],
    [60_003, 'a fails', 'half-open', { late: 2 }],
  ]);
});

test('a call of the current generation that is not a probe settles late while half-open', () => {
  const settings = settingsOf(quick);
  const state = story(settings, [[0, 'fail', 'open']]);
  const probe = recordAdmission(state, settings, 1, 60_000);
  recordSettlement(state, settings, { ...probe, probe: false }, failure(), 60_001);
  assert.equal(state.phase, 'half-open');
  assert.equal(state.late, 1);
  assert.equal(state.probes.length, 1);
});

test('the first probe is allowed at the exact end of the wait, and makes the breaker half-open', () => {
  const settings = settingsOf(quick);
  const state = story(settings, [[7, 'fail', 'open']]);
  assert.equal(judged(state, settings, 60_006).kind, 'deny');
  assert.equal(judged(state, settings, 60_007).kind, 'allow');
  const grant = recordAdmission(state, settings, 'p', 60_007);
  assert.deepEqual(grant, { id: 'p', generation: 3, probe: true, atMs: 60_007 });
});

test('a probe that succeeds slowly opens the breaker', () => {
  const slow = { ...quick, slowCallSecs: 2, minimumCalls: 5 };
  story(slow, [
    [0, 'fail', 'open'],
    [60_000, 'a begins', 'half-open'],
    [62_000, 'a ok', 'half-open', { probeSuccesses: 1 }],
    [62_000, 'b begins', 'half-open'],
    [64_001, 'b ok', 'open', { cause: 'a slow probe', successes: 2 }],
  ]);
});

test('a health check makes an open breaker half-open, and does not close the breaker', () => {
  story({ ...quick, successThreshold: 1 }, [
    [0, 'fail', 'open'],
    [5_000, 'healthy', 'half-open', { openMs: 5_000, probes: [] }],
    [5_000, 'fail', 'open', { openUntilMs: 65_000, opens: 2 }],
    [6_000, 'healthy', 'half-open'],
    [6_000, 'ok', 'closed'],
  ]);
});

test('a half-open breaker without a running probe stays half-open and allows a probe at any later time', () => {
  const settings = settingsOf(quick);
  const state = story(settings, [
    [0, 'fail', 'open'],
    [60_000, 'ok', 'half-open'],
  ]);
  advanceBreaker(state, settings, 9_000_000);
  assert.equal(state.phase, 'half-open');
  assert.equal(judgeBreaker(state, settings, 9_000_000).kind, 'allow');
});

test('a breaker that closes starts with empty windows', () => {
  const state = story({ failureThreshold: 2, successThreshold: 1, rateWindow: 'calls', windowCalls: 4 }, [
    [0, 'fail', 'closed', { ringFailures: 1 }],
    [0, 'fail', 'open', { ringFailures: 0, ringFilled: 0, ringAt: 0 }],
    [60_000, 'ok', 'closed', { ringFailures: 0, ringFilled: 0 }],
    [60_001, 'fail', 'closed', { run: 1, ringFailures: 1, ringFilled: 1 }],
  ]);
  assert.equal(state.cause, '');
});

test('observe mode admits every call while half-open, but only as many as permitted are probes', () => {
  const settings = settingsOf({ ...quick, mode: 'observe', halfOpenPermits: 2 });
  const state = initialBreaker(settings);
  recordSettlement(state, settings, recordAdmission(state, settings, 0, 0), failure(), 0);
  const herd = Array.from({ length: 5 }, (_, id) => recordAdmission(state, settings, id, 60_000));
  assert.deepEqual(
    herd.map(({ probe }) => probe),
    [true, true, false, false, false],
  );
  assert.equal(state.probes.length, 2);
});
