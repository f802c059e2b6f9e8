/** A list without order: items come and go in constant time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SlotList } from '../../../src/guard/runtime/slot-list.ts';

function listOf<T>(list: SlotList<T>): T[] {
  const items: T[] = [];
  list.forEach((item) => {
    items.push(item);
  });
  return items;
}

test('items are removed from any place, once', () => {
  const list = new SlotList<string>();
  const [first, middle, last] = ['a', 'b', 'c'].map((each) => list.add(each));
  assert.deepEqual(listOf(list), ['a', 'b', 'c']);
  assert.equal(first!(), true);
  assert.equal(first!(), false);
  assert.deepEqual(listOf(list).toSorted(), ['b', 'c']);
  assert.equal(last!(), true);
  assert.equal(middle!(), true);
  assert.equal(list.size, 0);
});

test('one item can be in the list twice, and each is removed by itself', () => {
  const list = new SlotList<string>();
  const remove = list.add('a');
  list.add('a');
  remove();
  assert.deepEqual(listOf(list), ['a']);
});

test('an item that is removed before its turn is not visited, and one that is added is not either', () => {
  const list = new SlotList<() => void>();
  const seen: string[] = [];
  list.add(() => {
    seen.push('first');
    removeSecond();
    list.add(() => seen.push('added'));
  });
  const removeSecond = list.add(() => seen.push('second'));
  list.add(() => seen.push('third'));
  list.forEach((each) => {
    each();
  });
  assert.deepEqual(seen, ['first', 'third']);
});

test('a thousand items in random order', () => {
  const list = new SlotList<number>();
  const removals = Array.from({ length: 1_000 }, (_, at) => [at, list.add(at)] as const);
  const kept = new Set(removals.map(([at]) => at));
  for (let round = 0; round < 700; round++) {
    const at = (round * 7_919) % 1_000;
    assert.equal(removals[at]![1](), kept.delete(at));
  }
  assert.deepEqual(new Set(listOf(list)), kept);
  assert.equal(list.size, kept.size);
  assert.equal(
    list.some((each) => kept.has(each)),
    kept.size > 0,
  );
});
