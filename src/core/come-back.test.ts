import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comeBackAt } from './come-back.ts';
import { comeBackMs } from './limits.ts';

test('a call comes back after a moment, and the later the longer the store takes', () => {
  assert.equal(comeBackAt(5_000, 5_000), 5_000 + comeBackMs);
  assert.equal(comeBackAt(5_000, 5_000 - comeBackMs), 5_000 + comeBackMs);
  assert.equal(comeBackAt(5_000, 5_000 - 3 * comeBackMs), 5_000 + 3 * comeBackMs);
});
