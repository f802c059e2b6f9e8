import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNumber, readKey, readKeyInArgs, stringifyValue } from '../../../../src/core/controls/rules/read-key.ts';
import { fingerprintEntriesMax } from '../../../../src/core/limits.ts';

const value = (of: unknown) => ({ kind: 'value', value: of });
const missing = { kind: 'missing' };
const unreadable = { kind: 'unreadable' };
const hostile = {
  get amount(): number {
    throw new Error('no');
  },
};

test('a key is read as a property name first, then as a path of own properties', () => {
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
  for (const [source, key, seen] of rows) assert.deepEqual(readKey(source, key), seen, key);
});

test('a key is read in every object argument, not inside lists, up to a maximum number of arguments', () => {
  assert.deepEqual(readKeyInArgs([{ a: 1 }, [{ a: 2 }], 'x', { a: 3 }], 'a'), [value(1), missing, value(3)]);
  assert.deepEqual(readKeyInArgs({ a: 1 }, 'a'), [value(1)]);
  assert.deepEqual(readKeyInArgs([], 'a'), [missing]);
  assert.equal(readKeyInArgs(Array(fingerprintEntriesMax + 1).fill({}), 'a').length, fingerprintEntriesMax);
  const gone = Proxy.revocable([], {});
  gone.revoke();
  assert.deepEqual(readKeyInArgs(gone.proxy, 'a'), [unreadable]);
});

test('parseNumber accepts finite numbers and plain decimal text', () => {
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
  for (const [given, number] of rows) assert.ok(Object.is(parseNumber(given), number), String(given));
});

test('stringifyValue returns undefined for a value that cannot be read', () => {
  assert.equal(stringifyValue({ a: 1 }), '{"a":1}');
  assert.equal(stringifyValue(null), 'null');
  assert.equal(stringifyValue(5), '5');
  assert.equal(stringifyValue(hostile), undefined);
});
