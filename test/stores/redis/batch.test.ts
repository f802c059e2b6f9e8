/** Merged transactions keep what each addition and mark says, but for its bounds. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeTransactions } from '../../../src/stores/redis/batch.ts';

test('counters that were first written while Redis was away are retained as long as their additions say', () => {
  const { adds } = mergeTransactions([
    { adds: [{ key: 'short', amount: 1, keepMs: 60_000, ceiling: 5 }] },
    { adds: [{ key: 'long', amount: 2 }] },
  ]);
  assert.deepEqual(adds, [
    { key: 'short', amount: 1, keepMs: 60_000 },
    { key: 'long', amount: 2 },
  ]);
});
