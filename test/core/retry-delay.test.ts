import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comeBackMs } from '../../src/core/limits.ts';
import { comeBackAt, isBack } from '../../src/core/retry-delay.ts';

test('a call comes back after a moment, and the later the longer the store takes', () => {
  assert.equal(comeBackAt(5_000, 5_000), 5_000 + comeBackMs);
  assert.equal(comeBackAt(5_000, 5_000 - comeBackMs), 5_000 + comeBackMs);
  assert.equal(comeBackAt(5_000, 5_000 - 3 * comeBackMs), 5_000 + 3 * comeBackMs);
});

test('somebody is back when it was said, or half a moment before; who was not sent away is not back', () => {
  const back = (earlyMs: number) => isBack(5_000, 5_000 - earlyMs);
  assert.deepEqual([-1, 0, comeBackMs / 2].map(back), [true, true, true]);
  assert.deepEqual([comeBackMs / 2 + 0.1, comeBackMs].map(back), [false, false]);
  assert.equal(isBack(undefined, 5_000), false);
});
