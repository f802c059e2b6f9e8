import assert from 'node:assert/strict';
import test from 'node:test';
import { findByIdPrefix } from '../../src/operator/cards.ts';

const all = ['ask-1a', 'ask-1b', 'card-2'].map((id) => ({ id }));

test('a card is found by the beginning of its id, with or without the part before the dash', () => {
  assert.equal(findByIdPrefix(all, 'card', 'card').id, 'card-2');
  assert.equal(findByIdPrefix(all, '2', 'card').id, 'card-2');
  assert.equal(findByIdPrefix(all, '1', 'card', ({ id }) => id === 'ask-1b').id, 'ask-1b');
});

test('the id of a card that is gone is not the beginning of the id of another card', () => {
  const later = ['card-x9-10', 'card-x9-2', 'card-x9-210-1'].map((id) => ({ id }));
  for (const gone of ['card-x9-1', 'x9-1'])
    assert.throws(() => findByIdPrefix(later, gone, 'card'), /there is no card/);
  assert.equal(findByIdPrefix(later, 'card-x9-21', 'card').id, 'card-x9-210-1');
});

test('an ambiguous id is an error that names at most five candidates', () => {
  assert.throws(() => findByIdPrefix(all, '1', 'card'), { message: 'ambiguous id "1"; candidates: ask-1a, ask-1b' });
  const many = Array.from({ length: 7 }, (_, at) => ({ id: `x${at}` }));
  assert.throws(() => findByIdPrefix(many, 'x', 'card'), /candidates: x0, x1, x2, x3, x4 and 2 more$/);
  assert.throws(() => findByIdPrefix(all, 'z', 'card'), {
    message: 'there is no card "z" in this store: switchgear inbox list --all shows them',
  });
});
