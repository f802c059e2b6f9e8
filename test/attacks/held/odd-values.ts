/** Values that a tool, a model or a server may hand over: huge, endless, lying, throwing when looked at. */

import { runInNewContext } from 'node:vm';
import type { Attempts } from './attempts.ts';
import { byForm } from './attempts.ts';

const million = 1_000_000;

function throwing(): never {
  throw new Error('looked at');
}

/** An object whose every trap throws. */
export function explosive(): object {
  const names = Object.getOwnPropertyNames(Reflect) as (keyof ProxyHandler<object>)[];
  return new Proxy({}, Object.fromEntries(names.map((name) => [name, throwing])));
}

export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

export function cyclic(): object {
  const value: Record<string, unknown> = { name: 'cycle', list: [] };
  value.self = value;
  (value.list as unknown[]).push(value, [value]);
  return value;
}

/** Brackets in brackets, as an object or as text. */
export function deep(levels: number): unknown {
  let value: unknown = 'floor';
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { in: value };
  return value;
}

export const deepText = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

export function throwingGetters(): object {
  const names = ['amount', 'message', 'name', 'code', 'status', 'isError', 'error', 'content', 'text', 'length'];
  return Object.defineProperties(
    { plain: 1 },
    Object.fromEntries(names.map((name) => [name, { get: throwing, enumerable: true }])),
  );
}

function changing(): object {
  let looks = 0;
  return Object.defineProperty({}, 'amount', { get: () => ++looks, enumerable: true });
}

function withConversions(): object {
  return { toString: throwing, valueOf: throwing, toJSON: throwing, [Symbol.toPrimitive]: throwing };
}

function sparse(): unknown[] {
  const list: unknown[] = [];
  list[4_000_000_000] = 1;
  return list;
}

/** Objects: each is made anew for every attempt. */
export const oddObjects: Attempts<() => unknown> = [
  ['a cycle', cyclic],
  ['an object whose traps throw', explosive],
  ['a revoked proxy', revoked],
  ['throwing getters', throwingGetters],
  ['a getter that changes', changing],
  ['throwing conversions', withConversions],
  ['toString that is no function', () => ({ toString: 1, valueOf: null })],
  ['no prototype', () => Object.assign(Object.create(null), { amount: 1 })],
  ['__proto__ as a key', () => JSON.parse('{"__proto__":{"amount":9},"constructor":{"prototype":{"x":1}}}')],
  ['5,000 levels', () => deep(5_000)],
  ['100,000 levels', () => deep(100_000)],
  ['a sparse list', sparse],
  ['a long list', () => new Array(byForm(5 * million, 200_000)).fill(7)],
  ['many keys', () => Object.fromEntries(Array.from({ length: byForm(100_000, 5_000) }, (_, at) => [`k${at}`, at]))],
  ['a large buffer', () => Buffer.alloc(byForm(50, 2) * million, 'x')],
  ['a typed array', () => new Float64Array([Number.NaN, -0, Infinity])],
  ['a shared buffer', () => new SharedArrayBuffer(16)],
  ['a map and a set', () => new Map<unknown, unknown>([[{}, new Set([1, cyclic()])]])],
  ['a weak map', () => new WeakMap()],
  ['a date that is none', () => new Date(Number.NaN)],
  ['a regular expression', () => /^(a+)+$/],
  ['a frozen object', () => Object.freeze({ amount: 1 })],
  ['an object of another realm', () => runInNewContext('({ amount: 1, list: [new Date(), /x/, new Error("x")] })')],
  [
    'a class instance with private fields',
    () =>
      new (class Account {
        #secret = 1;
        read = () => this.#secret;
      })(),
  ],
  ['a function', () => () => throwing()],
  [
    'a generator',
    () =>
      (function* () {
        yield throwing();
      })(),
  ],
  ['an abort signal', () => AbortSignal.abort(new Error('before'))],
  ['the global object', () => globalThis],
];

/** Values that are no objects. */
export const oddPrimitives: Attempts<() => unknown> = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['NaN', () => Number.NaN],
  ['minus zero', () => -0],
  ['infinity', () => Number.NEGATIVE_INFINITY],
  ['a bigint', () => 10n ** 400n],
  ['a symbol', () => Symbol('odd')],
  ['an empty text', () => ''],
  ['half a surrogate', () => 'a\ud800b\udfff'],
  ['NUL and controls', () => '\0\x1b[2J\x07\x9b31m\u202e\u2028'],
  ['a huge text', () => 'word '.repeat(byForm(40, 1) * million)],
  ['a text of one long word', () => 'a'.repeat(byForm(20, 1) * million)],
  ['deep JSON as text', () => deepText(100_000)],
  ['a text of blanks', () => ' '.repeat(million)],
  ['a text of emoji', () => '👩‍👩‍👧‍👦'.repeat(100_000)],
  ['a JSON text with __proto__', () => '{"__proto__":{"isError":true}}'],
];

export const oddValues: Attempts<() => unknown> = [...oddObjects, ...oddPrimitives];
