import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryDelayMs } from '../../src/core/limits.ts';
import { isRetry, retryTimeAfter } from '../../src/core/retry-delay.ts';

test('the retry time is at least retryDelayMs ahead, and later if the store is slower', () => {
  assert.equal(retryTimeAfter(5_000, 5_000), 5_000 + retryDelayMs);
  assert.equal(retryTimeAfter(5_000, 5_000 - retryDelayMs), 5_000 + retryDelayMs);
  assert.equal(retryTimeAfter(5_000, 5_000 - 3 * retryDelayMs), 5_000 + 3 * retryDelayMs);
});

test('a call is a retry from half of retryDelayMs before its retry time, and never without a retry time', () => {
  const back = (earlyMs: number) => isRetry(5_000, 5_000 - earlyMs);
  assert.deepEqual([-1, 0, retryDelayMs / 2].map(back), [true, true, true]);
  assert.deepEqual([retryDelayMs / 2 + 0.1, retryDelayMs].map(back), [false, false]);
  assert.equal(isRetry(undefined, 5_000), false);
});
