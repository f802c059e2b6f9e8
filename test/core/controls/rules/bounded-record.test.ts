import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drop, newBag, put } from '../../../../src/core/controls/rules/bounded-record.ts';
import { ruleCellsMax } from '../../../../src/core/limits.ts';

test('a bag counts what it holds, whatever is put again or dropped twice', () => {
  const bag = newBag<number>();
  assert.equal(put(bag, 'k:1', 1), 1);
  assert.equal(put(bag, 'k:1', 2), 2);
  put(bag, 'k:2', 3);
  assert.deepEqual(bag, { size: 2, items: { 'k:1': 2, 'k:2': 3 } });
  drop(bag, 'k:1');
  drop(bag, 'k:1');
  assert.deepEqual(bag, { size: 1, items: { 'k:2': 3 } });
});

test('a full bag loses its oldest tenth when something new comes, and only then', () => {
  const bag = newBag<number>();
  for (let at = 0; at < ruleCellsMax; at++) put(bag, `k:${at}`, at);
  put(bag, 'k:0', 0);
  assert.equal(bag.size, ruleCellsMax);
  put(bag, 'new:1', 1);
  const tenth = ruleCellsMax / 10;
  assert.equal(bag.size, ruleCellsMax - tenth + 1);
  assert.equal(Object.keys(bag.items).length, bag.size);
  assert.deepEqual(
    ['k:0', `k:${tenth - 1}`, `k:${tenth}`, 'new:1'].map((key) => key in bag.items),
    [false, false, true, true],
  );
});
