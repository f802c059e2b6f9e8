import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { countIn, createHistory, freeAtMs, recordTime, sizeOf } from '../../../../src/core/controls/rules/history.ts';

describe('a history of times', () => {
  it('holds at most its limit of the latest times, and about twice as many in memory', () => {
    const history = createHistory();
    for (let at = 1; at <= 35; at++) {
      recordTime(history, at, 10);
      assert.equal(sizeOf(history), Math.min(at, 10));
      assert.ok(history.times.length <= 21);
    }
    assert.deepEqual(history.times.slice(history.from), [26, 27, 28, 29, 30, 31, 32, 33, 34, 35]);
  });

  it('counts the times within the window, in whatever order the times are recorded', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { maxLength: 60 }), fc.nat(1_000), fc.nat(500), (moments, atMs, windowMs) => {
        const history = createHistory();
        for (const moment of moments) recordTime(history, moment, 100);
        assert.equal(countIn(history, windowMs, atMs), moments.filter((moment) => moment > atMs - windowMs).length);
      }),
      { seed: 7 },
    );
  });

  it('does not count a time that is exactly one window old', () => {
    const history = createHistory();
    recordTime(history, 100, 10);
    assert.equal(countIn(history, 50, 149), 1);
    assert.equal(countIn(history, 50, 150), 0);
  });

  it('counts every time if the current time is not a number', () => {
    const history = createHistory();
    recordTime(history, 5, 10);
    assert.equal(countIn(history, 1, Number.NaN), 1);
  });

  it('frees a slot when the oldest time that counts has left the window', () => {
    const twice = { kind: 'frequency', count: 2, windowMs: 100, text: '' } as const;
    const history = createHistory();
    assert.equal(freeAtMs(undefined, twice), 0);
    recordTime(history, 10, 10);
    assert.equal(freeAtMs(history, twice), 0);
    recordTime(history, 30, 10);
    assert.equal(freeAtMs(history, twice), 110);
    recordTime(history, 50, 10);
    assert.equal(freeAtMs(history, twice), 130);
    assert.equal(freeAtMs(history, { ...twice, count: 0 }), Number.POSITIVE_INFINITY);
  });
});

describe('the stored list of a history', () => {
  it('skips the oldest times one by one, and removes the skipped times in bulk', () => {
    const history = createHistory();
    const rows: readonly [atMs: number, times: readonly number[], from: number][] = [
      [1, [1], 0],
      [2, [1, 2], 0],
      [3, [1, 2, 3], 1],
      [4, [1, 2, 3, 4], 2],
      [5, [4, 5], 0],
      [6, [4, 5, 6], 1],
    ];
    for (const [atMs, times, from] of rows) {
      recordTime(history, atMs, 2);
      assert.deepEqual(history, { times, from });
    }
  });
});
