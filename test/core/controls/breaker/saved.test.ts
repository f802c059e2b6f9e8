/** Writing a breaker down and taking it up: the same behaviour, elsewhere and later, and garbage does no harm. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeBreaker, rateSums } from '../../../../src/core/controls/breaker/breaker.ts';
import { exportBreaker, importBreaker, type SavedBreaker } from '../../../../src/core/controls/breaker/saved.ts';
import { type BreakerState, initialBreaker } from '../../../../src/core/controls/breaker/state.ts';
import { ringSums } from '../../../../src/core/controls/breaker/window.ts';
import { type Row, settingsOf, story } from './breaker-story.ts';

const plain = (saved: SavedBreaker): SavedBreaker => JSON.parse(JSON.stringify(saved));

/** Saves at one time of one machine and takes up at another time of another. */
function moved(
  said: Parameters<typeof settingsOf>[0],
  rows: readonly Row[],
  savedAtMs: number,
  takenAtMs: number,
): BreakerState {
  const settings = settingsOf(said);
  const saved = plain(exportBreaker(story(said, rows), settings, savedAtMs));
  return importBreaker(saved, settings, takenAtMs);
}

const quick = { failureThreshold: 1, successThreshold: 2 };

test('a restored open breaker waits for the remaining time, on any clock', () => {
  for (const takenAtMs of [0, 17, 5_000_000]) {
    const state = moved(quick, [[1_000, 'fail', 'open']], 21_000, takenAtMs);
    story(
      quick,
      [
        [takenAtMs, `refused until ${takenAtMs + 40_000}`, 'open', { cause: 'failures', trips: 1, opens: 1 }],
        [takenAtMs + 39_999, 'refused', 'open'],
        [takenAtMs + 40_000, 'ok', 'half-open', { openMs: 60_000 }],
      ],
      state,
    );
  }
});

test('an open period that is over when the breaker is saved is over when the breaker is restored', () => {
  const state = moved(quick, [[1_000, 'fail', 'open']], 99_000, 5);
  assert.equal(state.openUntilMs, 5);
  story(quick, [[5, 'ok', 'half-open']], state);
  story(quick, [[0, 'ok', 'half-open']], moved(quick, [[1_000, 'fail', 'open']], 99_000, 0));
});

test('a restored half-open breaker keeps its successes and has all permits free', () => {
  const rows: Row[] = [
    [0, 'fail', 'open'],
    [60_000, 'ok', 'half-open'],
    [60_000, 'a begins', 'half-open'],
  ];
  const state = moved(quick, rows, 60_001, 3);
  assert.deepEqual([state.phase, state.probeSuccesses, state.probes, state.inFlight], ['half-open', 1, [], 0]);
  story(quick, [[3, 'ok', 'closed']], state);
});

test('results of calls admitted before a restore are late, because the generation increased', () => {
  const settings = settingsOf(quick);
  const before = story(quick, [[0, 'fail', 'open']]);
  const after = importBreaker(exportBreaker(before, settings, 0), settings, 0);
  assert.equal(after.generation, before.generation + 1);
});

test('a restored breaker keeps its failures in a row and their error', () => {
  const said = { failureThreshold: 3, sameErrorOnly: true };
  const rows: Row[] = [
    [0, 'fail 7', 'closed'],
    [0, 'fail 7', 'closed'],
  ];
  story(said, [[9, 'fail 7', 'open']], moved(said, rows, 1, 9));
  story(said, [[9, 'fail 8', 'closed', { run: 1 }]], moved(said, rows, 1, 9));
  const negative = moved(said, [[0, 'fail -12', 'closed']], 1, 9);
  assert.deepEqual([negative.run, negative.runError], [1, -12]);
});

test('recovery waits continue to grow after a restore', () => {
  const said = { ...quick, recoveryFactor: 2 };
  const rows: Row[] = [
    [0, 'fail', 'open', { opens: 1 }],
    [60_000, 'fail', 'open', { opens: 2, openUntilMs: 180_000 }],
  ];
  const state = moved(said, rows, 60_000, 0);
  story(said, [[120_000, 'fail', 'open', { opens: 3, trips: 3, openUntilMs: 360_000 }]], state);
});

test('a held breaker stays held after a restore, in any phase, also at time zero', () => {
  assert.equal(moved(quick, [[0, 'hold', 'closed']], 0, 8).heldAtMs, 8);
  for (const takenAtMs of [0, 44, -9]) {
    const state = moved(quick, [[5, 'hold', 'closed']], 6, takenAtMs);
    story(
      quick,
      [
        [takenAtMs, 'refused for good', 'closed'],
        [takenAtMs, 'release', 'closed'],
        [takenAtMs, 'ok', 'closed'],
      ],
      state,
    );
  }
});

test('after a restore the settings, not the saved state, decide whether recovery is manual', () => {
  const manual = { ...quick, recovery: 'manual' } as const;
  const byHand = moved(manual, [[5, 'fail', 'open']], 6, 7);
  story(manual, [[9e9, 'refused for good', 'open', { openUntilMs: -1 }]], byHand);
  const saved = exportBreaker(story(manual, [[5, 'fail', 'open']]), settingsOf(manual), 6);
  assert.equal(saved.openForMs, -1);
  assert.equal(importBreaker(saved, settingsOf(quick), 7).openUntilMs, 7);
  const timed = exportBreaker(story(quick, [[5, 'fail', 'open']]), settingsOf(quick), 6);
  assert.equal(importBreaker(timed, settingsOf(manual), 7).openUntilMs, -1);
});

test('a restored breaker keeps its time spent open, including fractions of a millisecond', () => {
  const settings = settingsOf(quick);
  const state = story(quick, [
    [0, 'fail', 'open'],
    [60_000, 'fail', 'open'],
  ]);
  const saved = plain(exportBreaker(state, settings, 60_010.25));
  assert.deepEqual([saved.openSinceMs, saved.openMs, saved.openForMs], [10.25, 60_000, 59_989.75]);
  const taken = importBreaker(saved, settings, 1_000.5);
  assert.deepEqual([taken.openedAtMs, taken.openMs, taken.openUntilMs], [990.25, 60_000, 60_990.25]);
  assert.equal(exportBreaker(story(quick, [[0, 'ok', 'closed']]), settings, 99).openSinceMs, 0);
});

for (const size of [3, 16, 20]) {
  test(`a window of ${size} calls is restored call by call, full or not`, () => {
    const said = { trip: 'count_window', windowCalls: size, failureThreshold: 99 } as const;
    const settings = settingsOf({ ...said, failureThreshold: 99 });
    for (let filled = 0; filled < size * 2 + 3; filled++) {
      const rows = Array.from({ length: filled }, (_, at): Row => [0, at % 3 === 1 ? 'fail' : 'ok', 'closed']);
      const before = story(said, rows);
      const after = importBreaker(plain(exportBreaker(before, settings, 5)), settings, 9);
      for (let more = 0; more <= size; more++) {
        assert.deepEqual(
          ringSums(after, settings),
          ringSums(before, settings),
          `${filled} calls before and ${more} after`,
        );
        story(said, [[9, 'ok', 'closed']], before);
        story(said, [[9, 'ok', 'closed']], after);
      }
    }
  });
}

test('slow calls are restored as slow, and slow failures as both slow and failed', () => {
  const said = { slowCallSecs: 1, rateWindow: 'calls', windowCalls: 4, minimumCalls: 4, failureThreshold: 9 } as const;
  const state = moved(
    said,
    [
      [0, 'a begins', 'closed'],
      [0, 'b begins', 'closed'],
      [1_100, 'a ok', 'closed'],
      [1_100, 'b fails', 'closed'],
    ],
    1_100,
    0,
  );
  assert.deepEqual(rateSums(state, settingsOf(said), 0), { calls: 2, failures: 1, slow: 2 });
});

test('a smaller window restores the most recent calls', () => {
  const said = { trip: 'count_window', windowCalls: 6, failureThreshold: 9 } as const;
  const rows = ['fail', 'fail', 'ok', 'ok', 'fail'].map((step): Row => [0, step, 'closed']);
  const saved = exportBreaker(story(said, rows), settingsOf(said), 0);
  const smaller = importBreaker(saved, settingsOf({ ...said, windowCalls: 3 }), 0);
  assert.deepEqual([smaller.ringFilled, smaller.ringFailures], [3, 1]);
});

test('a restored time window continues to age on another clock, even a new one', () => {
  const said = { trip: 'time_window', monitorWindowSecs: 60, failureThreshold: 4 } as const;
  const rows: Row[] = [
    [100_000, 'fail', 'closed'],
    [125_000, 'fail', 'closed'],
    [141_000, 'fail', 'closed'],
  ];
  for (const takenAtMs of [0, 30, 999_000]) {
    const settings = settingsOf(said);
    const state = moved(said, rows, 141_000, takenAtMs);
    const failures = (laterMs: number) => rateSums(state, settings, takenAtMs + laterMs).failures;
    assert.equal(failures(0), 3, `taken up at ${takenAtMs}`);
    assert.equal(failures(19_000), 2, 'the first is gone at the age of the window');
    assert.equal(failures(44_000), 1);
    assert.equal(failures(60_000), 0);
    const begun = moved(said, [[120_000, 'fail', 'closed']], 120_000, takenAtMs);
    assert.equal(rateSums(begun, settings, takenAtMs + 59_999).failures, 1, 'saved as its part began');
    story(said, [[takenAtMs + 1, 'fail', 'open']], state);
  }
});

test('samples of a restored time window expire at the same millisecond as without the restore', () => {
  const said = { trip: 'time_window', monitorWindowSecs: 7, failureThreshold: 99 } as const;
  const settings = settingsOf(said);
  for (let at = 0; at < 40_000; at += 777) {
    const before = story(said, [
      [at, 'fail', 'closed'],
      [at + 1_500, 'fail', 'closed'],
    ]);
    const after = importBreaker(plain(exportBreaker(before, settings, at + 2_000)), settings, at + 2_000);
    for (let later = 0; later < 9_000; later += 130) {
      const [here, there] = [before, after].map((state) => rateSums(state, settings, at + 2_000 + later));
      assert.deepEqual(there, here, `saved at ${at + 2_000}, ${later} ms later`);
    }
  }
});

test('saving and restoring repeatedly does not change the age of samples', () => {
  const said = { trip: 'time_window', monitorWindowSecs: 60, failureThreshold: 99 } as const;
  const settings = settingsOf(said);
  let state = story(said, [[5_000, 'fail', 'closed']]);
  let atMs = 5_000;
  for (let round = 0; round < 50; round++) {
    const saved = plain(exportBreaker(state, settings, atMs + 1_000));
    atMs = 40 + round; // Every process has a clock of its own.
    state = importBreaker(saved, settings, atMs);
    assert.equal(rateSums(state, settings, atMs).failures, 1, `after ${round + 1} seconds`);
  }
  assert.equal(rateSums(state, settings, atMs + 10_000).failures, 0);
});

test('a time window of another length is not restored', () => {
  const said = { trip: 'time_window', monitorWindowSecs: 60, failureThreshold: 9 } as const;
  const saved = exportBreaker(story(said, [[0, 'fail', 'closed']]), settingsOf(said), 0);
  const other = settingsOf({ ...said, monitorWindowSecs: 30 });
  assert.equal(rateSums(importBreaker(saved, other, 0), other, 0).failures, 0);
  const calls = settingsOf({ trip: 'count_window' });
  assert.deepEqual(rateSums(importBreaker(saved, calls, 0), calls, 0).calls, 0);
});

test('the saved state is plain JSON and contains durations only', () => {
  const said = { ...quick, rateWindow: 'calls' } as const;
  const settings = settingsOf(said);
  const at = (ms: number) => exportBreaker(story(said, [[ms, 'fail', 'open']]), settings, ms + 10);
  assert.deepEqual(plain(at(0)), at(0));
  assert.deepEqual({ ...at(0), partAgeMs: 0 }, { ...at(7_000_000), partAgeMs: 0 });
});

test('an invalid saved state is restored as a working closed breaker', () => {
  const settings = settingsOf({ ...quick, trip: 'count_window', rateWindow: 'time' });
  const whole = exportBreaker(story(quick, [[0, 'fail', 'open']]), settingsOf(quick), 0);
  const nothing = initialBreaker(settings);
  const bad: unknown[] = [null, undefined, 7, 'open', [], {}, { ...whole, format: 2 }, { ...whole, phase: 'ajar' }];
  for (const saved of bad) {
    const state = importBreaker(saved as SavedBreaker, settings, 100);
    assert.equal(state.phase, 'closed', JSON.stringify(saved));
    assert.equal(judgeBreaker(state, settings, 100).kind, 'allow');
    assert.ok(state.generation >= 2, 'later than any breaker that saved nothing');
  }
  assert.deepEqual(
    { ...importBreaker(null as never, settings, 0), generation: 1 },
    nothing,
    'nothing understood, nothing taken',
  );
});

test('an invalid value in one saved field affects only that field', () => {
  const settings = settingsOf({ ...quick, trip: 'count_window', rateWindow: 'time' });
  const whole = exportBreaker(story({ ...quick }, [[0, 'fail', 'open']]), settings, 0);
  const rubbish = [
    null,
    undefined,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    -5.5,
    1e300,
    2 ** 53,
    '3',
    'x'.repeat(999),
    true,
    {},
    [],
    [1, 2, 3],
    new Array(18).fill('x'),
    new Array(18).fill(-1),
  ];
  for (const key of Object.keys(whole) as (keyof SavedBreaker)[]) {
    for (const value of rubbish) {
      const state = importBreaker({ ...whole, [key]: value } as SavedBreaker, settings, 1_000);
      const what = `${key}: ${String(value)}`;
      for (const [name, held] of Object.entries(state)) {
        if (typeof held === 'number') assert.ok(Number.isFinite(held), `${what} makes ${name} ${held}`);
      }
      assert.ok(state.cause.length <= 200, what);
      assert.ok(state.generation + 1 > state.generation, `${what}: generations still grow`);
      for (const list of [state.ring, state.buckets]) {
        assert.ok(
          list?.every((count) => Number.isSafeInteger(count) && count >= 0),
          what,
        );
      }
      if (/^(run|runError|opens|trips|probeSuccesses)$/.test(key) && !Number.isInteger(value))
        assert.equal(state[key as 'run'], 0, what);
      state.heldAtMs = -1;
      if (state.phase === 'open') {
        assert.ok(state.openUntilMs <= 1_000 + 1e12, what);
        assert.equal(judgeBreaker(state, settings, state.openUntilMs).kind, 'allow', `${what}: it leads out again`);
      }
    }
  }
});

test('a breaker that never opened is saved without a remaining wait', () => {
  const settings = settingsOf({});
  const saved = exportBreaker(initialBreaker(settings), settings, 5_000);
  assert.deepEqual([saved.phase, saved.openForMs, saved.openSinceMs, saved.held], ['closed', 0, 0, false]);
});
