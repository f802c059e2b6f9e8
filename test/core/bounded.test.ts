/** Keys of bounded collections: the order in which they are forgotten. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWeighedKeys, type Weight } from '../../src/core/bounded.ts';

test('weighed keys forget empty states first, then the oldest in use, and reached limits last', () => {
  const weights = new Map<string, Weight>();
  const weigh = (key: string) => weights.get(key) ?? 0;
  const keys = createWeighedKeys(1, 2);
  const add = (key: string, weight: Weight) => {
    weights.set(key, weight);
    return keys.add(key, weigh);
  };
  assert.equal(add('reached', 2), undefined);
  assert.equal(add('used', 1), undefined, 'the limit that was reached is kept');
  assert.equal(add('empty', 0), undefined, 'what is used is kept');
  assert.deepEqual(add('other', 1), { key: 'empty', weight: 0 });
  assert.deepEqual(add('third', 2), { key: 'used', weight: 1 });
  weights.set('other', 2);
  assert.deepEqual(add('end', 0), { key: 'reached', weight: 2 }, 'all others have reached their limits, too');
  assert.deepEqual(
    ['other', 'third', 'end'].map((key) => keys.has(key)),
    [true, true, true],
  );
  assert.equal(keys.add('other', weigh), undefined);
  keys.delete('other');
  assert.equal(keys.has('other'), false);
});
