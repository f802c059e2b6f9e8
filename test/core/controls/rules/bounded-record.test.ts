import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBoundedRecord, dropItem, putItem } from '../../../../src/core/controls/rules/bounded-record.ts';
import { ruleCellsMax } from '../../../../src/core/limits.ts';

test('the size equals the number of items after repeated puts and drops', () => {
  const bag = createBoundedRecord<number>();
  assert.equal(putItem(bag, 'k:1', 1), 1);
  assert.equal(putItem(bag, 'k:1', 2), 2);
  putItem(bag, 'k:2', 3);
  assert.deepEqual(bag, { size: 2, items: { 'k:1': 2, 'k:2': 3 } });
  dropItem(bag, 'k:1');
  dropItem(bag, 'k:1');
  assert.deepEqual(bag, { size: 1, items: { 'k:2': 3 } });
});

test('a full record drops its oldest tenth when a new key is put, not when a known key is put', () => {
  const bag = createBoundedRecord<number>();
  for (let at = 0; at < ruleCellsMax; at++) putItem(bag, `k:${at}`, at);
  putItem(bag, 'k:0', 0);
  assert.equal(bag.size, ruleCellsMax);
  putItem(bag, 'new:1', 1);
  const tenth = ruleCellsMax / 10;
  assert.equal(bag.size, ruleCellsMax - tenth + 1);
  assert.equal(Object.keys(bag.items).length, bag.size);
  assert.deepEqual(
    ['k:0', `k:${tenth - 1}`, `k:${tenth}`, 'new:1'].map((key) => key in bag.items),
    [false, false, true, true],
  );
});
