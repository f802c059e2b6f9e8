import assert from 'node:assert/strict';
import { test } from 'node:test';
import { look, lookInArgs, numberOf, textOf } from '../../../../src/core/controls/rules/lookup.ts';
import { fingerprintEntriesMax } from '../../../../src/core/limits.ts';

const value = (of: unknown) => ({ kind: 'value', value: of });
const missing = { kind: 'missing' };
const unreadable = { kind: 'unreadable' };
const hostile = {
  get amount(): number {
    throw new Error('no');
  },
};

test('a key is looked up as it is, then as a path of own properties', () => {
  const rows: readonly [source: unknown, key: string, seen: object][] = [
    [{ a: 1 }, 'a', value(1)],
    [{ a: null }, 'a', value(null)],
    [{ a: undefined }, 'a', missing],
    [{ a: { b: 2 } }, 'a.b', value(2)],
    [{ 'a.b': 1, a: { b: 2 } }, 'a.b', value(1)],
    [{ a: 1 }, 'a.b', missing],
    [{ a: { b: 2 } }, 'a.c', missing],
    [{}, 'toString', missing],
    [null, 'a', missing],
    ['text', 'length', missing],
    [hostile, 'amount', unreadable],
    [{ a: hostile }, 'a.amount', unreadable],
  ];
  for (const [source, key, seen] of rows) assert.deepEqual(look(source, key), seen, key);
});

test('every argument that is an object is looked into, lists aside, and only so many', () => {
  assert.deepEqual(lookInArgs([{ a: 1 }, [{ a: 2 }], 'x', { a: 3 }], 'a'), [value(1), missing, value(3)]);
  assert.deepEqual(lookInArgs({ a: 1 }, 'a'), [value(1)]);
  assert.deepEqual(lookInArgs([], 'a'), [missing]);
  assert.equal(lookInArgs(Array(fingerprintEntriesMax + 1).fill({}), 'a').length, fingerprintEntriesMax);
  const gone = Proxy.revocable([], {});
  gone.revoke();
  assert.deepEqual(lookInArgs(gone.proxy, 'a'), [unreadable]);
});

test('a number is a finite one, or text that is a plain decimal', () => {
  const rows: readonly [unknown, number | undefined][] = [
    [5, 5],
    [7n, 7],
    [-0, 0],
    [' +5.5e1 ', 55],
    ['.5', 0.5],
    ['5.', 5],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
    ['1e999', undefined],
    ['', undefined],
    ['0x10', undefined],
    ['5 EUR', undefined],
    ['NaN', undefined],
    [true, undefined],
    [null, undefined],
  ];
  for (const [given, number] of rows) assert.ok(Object.is(numberOf(given), number), String(given));
});

test('the text of a value is had without trusting it', () => {
  assert.equal(textOf({ a: 1 }), '{"a":1}');
  assert.equal(textOf(null), 'null');
  assert.equal(textOf(5), '5');
  assert.equal(textOf(hostile), undefined);
});
