import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markValue } from '../../../src/guard/approval/call-mark.ts';

const secret = 'c2VjcmV0LW9mLXRoZS1zdG9yZS1mb3ItdGVzdHMtb25seQ';

test('equal values have equal marks, and every other content, order and kind another one', () => {
  assert.equal(markValue(secret, { a: 1, b: [2] }), markValue(secret, { b: [2], a: 1 }));
  const long = 'x'.repeat(50_000);
  const values = [
    ...['', 'a', 'b', 'ab', 'ba', '\0', '\0\0', '\ud800', '\ud801', 1, '1', null, undefined, true, [], {}, [[]]],
    ...[
      { a: 1 },
      { a: 2 },
      { b: 1 },
      [1, 2],
      [2, 1],
      new Map([[1, 2]]),
      new Uint8Array([1, 2]),
      new Uint8Array([2, 1]),
    ],
    ...[long, `${long}y`, `y${long}`, `${long.slice(1)}y`],
  ];
  const marks = values.map((value) => markValue(secret, value));
  assert.equal(new Set(marks).size, values.length);
  const ofOther = values.map((value) => markValue(`${secret.slice(1)}A`, value));
  assert.equal(marks.filter((mark, at) => mark === ofOther[at]).length, 0, 'another secret');
});

test('texts that fool hashes without a prime, and a hundred thousand commands, have marks of their own', () => {
  let [one, two] = ['a', 'b'];
  for (let doubled = 0; doubled < 13; doubled++) [one, two] = [one + two, two + one];
  assert.notEqual(markValue(secret, one), markValue(secret, two));
  const marks = new Set(Array.from({ length: 100_000 }, (_, at) => markValue(secret, `ls # ${at}`)));
  assert.equal(marks.size, 100_000);
});

test('a value that is too large, and a store without a secret, have no mark', () => {
  assert.equal(markValue(secret, Array(200_000).fill(0)), undefined);
  assert.equal(markValue('', 1), undefined);
});
