import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryDelayMs } from '../../src/core/limits.ts';
import { isRetry, parseHttpDate, retryTimeAfter } from '../../src/core/retry-delay.ts';

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

test('every date that JavaScript writes is read as the same time', () => {
  const dayMs = 86_400_000;
  for (let wallMs = Date.UTC(1970, 0, 1); wallMs < Date.UTC(2105, 0, 1); wallMs += 13 * dayMs + 3_723_000)
    assert.equal(parseHttpDate(new Date(wallMs).toUTCString()), wallMs);
  for (const text of [
    '',
    'soon',
    '2024-02-29T00:00:00Z',
    'Thu, 29 Foo 2024 00:00:00 GMT',
    'Thu, 29 anF 2024 00:00:00 GMT',
  ])
    assert.equal(parseHttpDate(text), undefined);
});
