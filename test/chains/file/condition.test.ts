import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StepOp } from '../../../src/chains/file/chain.ts';
import { evaluateCondition, explainSkip, operators } from '../../../src/chains/file/condition.ts';

const scope = {
  params: { limit: 10, tags: 'red, green' },
  outputs: {
    price: '9.5',
    word: 'hello world',
    list: ['a', 2],
    order: { amount: 3 },
    blank: '',
    none: null,
    nothing: {},
  },
};

/** Every op: what holds and what does not, as [reference, value]. */
const table: Readonly<
  Record<StepOp, readonly [yes: readonly [string, unknown?][], no: readonly [string, unknown?][]]>
> = {
  equals: [
    [
      ['price', 9.5],
      ['price', '9.50'],
      ['word', 'hello world'],
      ['order.amount', 3],
      ['order', '{"amount":3}'],
    ],
    [
      ['price', 9],
      ['word', 'Hello world'],
      ['missing', 'x'],
      ['missing', null],
    ],
  ],
  not_equals: [
    [
      ['price', 9],
      ['word', 'x'],
    ],
    [
      ['price', '9.5'],
      ['missing', 'x'],
    ],
  ],
  less_than: [
    [
      ['price', '{{limit}}'],
      ['price', '1e1'],
    ],
    [
      ['price', 9.5],
      ['price', 9],
      ['word', 5],
      ['price', 'x'],
      ['missing', 5],
    ],
  ],
  less_or_equal: [
    [
      ['price', 9.5],
      ['price', 10],
    ],
    [
      ['price', 9.4],
      ['blank', 5],
    ],
  ],
  greater_than: [
    [
      ['price', 9],
      ['price', -1],
    ],
    [
      ['price', 9.5],
      ['none', -1],
      ['blank', -1],
      ['missing', -1],
    ],
  ],
  greater_or_equal: [
    [
      ['price', 9.5],
      ['price', '9'],
    ],
    [
      ['price', 9.6],
      ['word', 0],
    ],
  ],
  contains: [
    [
      ['word', 'lo wo'],
      ['list', 'a'],
      ['list', '2'],
      ['order', 'amount'],
    ],
    [
      ['word', 'LO'],
      ['list', 'b'],
      ['missing', ''],
    ],
  ],
  not_contains: [
    [
      ['word', 'x'],
      ['list', 'b'],
    ],
    [
      ['word', 'hello'],
      ['list', 2],
      ['missing', 'x'],
    ],
  ],
  starts_with: [
    [['word', 'hello']],
    [
      ['word', 'world'],
      ['missing', ''],
    ],
  ],
  ends_with: [[['word', 'world']], [['word', 'hello']]],
  matches: [
    [
      ['word', 'h*o w*d'],
      ['word', 'hello world'],
      ['word', '*'],
    ],
    [
      ['word', 'h.*'],
      ['word', 'hello'],
      ['missing', '*'],
    ],
  ],
  in: [
    [
      ['price', [1, '9.5']],
      ['order.amount', '2,3'],
      ['limit', [10]],
    ],
    [
      ['price', [1, 2]],
      ['missing', ['missing']],
      ['word', '{{tags}}'],
    ],
  ],
  exists: [
    [['price'], ['limit'], ['none'], ['order.amount']],
    [['missing'], ['order.price'], ['constructor'], ['__proto__']],
  ],
  not_exists: [
    [['missing'], ['toString']],
    [['price'], ['none']],
  ],
  is_empty: [
    [['blank'], ['none'], ['nothing'], ['missing']],
    [['price'], ['list'], ['order']],
  ],
  is_not_empty: [
    [['price'], ['list'], ['limit']],
    [['blank'], ['none'], ['nothing'], ['missing']],
  ],
};

for (const [op, [yes, no]] of Object.entries(table) as [StepOp, (typeof table)[StepOp]][]) {
  test(`${op} holds where it should and nowhere else`, () => {
    for (const [refKey, value] of yes)
      assert.equal(evaluateCondition({ refKey, op, value }, scope), true, `${refKey} ${op} ${value}`);
    for (const [refKey, value] of no)
      assert.equal(evaluateCondition({ refKey, op, value }, scope), false, `${refKey} ${op} ${value}`);
  });
}

test('symbols and abbreviations mean the expected operators', () => {
  for (const [written, op] of [
    ['==', 'equals'],
    ['!=', 'not_equals'],
    ['<', 'less_than'],
    ['<=', 'less_or_equal'],
    ['>', 'greater_than'],
    ['>=', 'greater_or_equal'],
    ['eq', 'equals'],
    ['ne', 'not_equals'],
    ['lt', 'less_than'],
    ['lte', 'less_or_equal'],
    ['gt', 'greater_than'],
    ['gte', 'greater_or_equal'],
  ] as const) {
    assert.equal(operators[written], op);
  }
  assert.deepEqual([...new Set(Object.values(operators))].sort(), Object.keys(table).sort());
});

test('a pattern with many stars is matched in bounded time', () => {
  const refKey = 'text';
  const value = `${'*a'.repeat(1_000)}b`;
  assert.equal(
    evaluateCondition({ refKey, op: 'matches', value }, { params: {}, outputs: { text: 'a'.repeat(60_000) } }),
    false,
  );
});

test('a comparison value that cannot be filled is an error, not false', () => {
  assert.throws(() => evaluateCondition({ refKey: 'price', op: 'equals', value: '{{nobody}}' }, scope), {
    code: 'unfilled_template',
  });
});

test('the reason for a skipped step shows both compared values', () => {
  assert.equal(
    explainSkip({ refKey: 'price', op: 'greater_than', value: '{{limit}}' }, scope),
    'price ("9.5") greater_than 10 does not hold',
  );
  assert.equal(explainSkip({ refKey: 'gone', op: 'exists' }, scope), 'gone (missing) exists does not hold');
});
