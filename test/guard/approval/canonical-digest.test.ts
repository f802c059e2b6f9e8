import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestValue } from '../../../src/guard/approval/canonical-digest.ts';

const digest = (value: unknown) => digestValue('key', value);

test('equal content has equal digests, in any order of keys and shared or copied', () => {
  const part = { b: [1, 'x'] };
  assert.match(digest(part) ?? '', /^[0-9a-f]{64}$/);
  assert.equal(digest({ a: 1, b: 2 }), digest({ b: 2, a: 1 }));
  assert.equal(digest([part, part]), digest([part, structuredClone(part)]));
  assert.equal(digest(new Map([[1, new Date(5)]])), digest(new Map([[1, new Date(5)]])));
  assert.equal(digest(Buffer.from('abc')), digest(Buffer.from('abc')));
  assert.notEqual(digestValue('other', part), digest(part));
});

test('values that differ in kind, place or hidden parts have different digests', () => {
  const symbol = Symbol('s');
  const values: readonly unknown[] = [
    ...[1, '1', 1n, true, null, undefined, 0, -0, Number.NaN, '', [], {}, [[]], [{}], [undefined], [null]],
    ...[['a', 'b'], ['ab'], ['a,b'], { a: 'b' }, { ab: '' }, new Array(1), new Array(2), '\ud800', '\ud801', '\ufffd'],
    ...[new Date(0), new Date(1), /a/, /a/g, new Set([1]), new Map([[1, 1]]), new URL('http://a'), new Uint8Array(1)],
    ...[new Uint16Array(1), new ArrayBuffer(1), Object.create(null, { a: { value: 1 } }), { [symbol]: 1 }, symbol],
    ...[() => 1, () => 1, Promise.resolve(), Promise.resolve(), new (class A {})(), new (class A {})(), new Error('a')],
  ];
  assert.equal(new Set(values.map(digest)).size, values.length);
});

test('cycles, throwing getters, revoked proxies and endless objects never throw', () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const throwing = Object.defineProperty({}, 'a', {
    enumerable: true,
    get() {
      throw new Error('no');
    },
  });
  for (const value of [cycle, proxy, throwing]) assert.equal(digest(value), digest(value));
  let deep: unknown = 1;
  for (let level = 0; level < 1_000; level++) deep = [deep];
  assert.equal(digest(deep), undefined);
  assert.equal(digest(Array.from({ length: 200_000 }, (_, at) => at)), undefined);
});

test('a handle is compared by identity, whatever its state does', () => {
  const { signal } = new AbortController();
  const before = digest({ signal });
  Object.assign(signal, { note: 'changed' });
  assert.equal(digest({ signal }), before);
  assert.notEqual(digest({ signal: new AbortController().signal }), before);
});
