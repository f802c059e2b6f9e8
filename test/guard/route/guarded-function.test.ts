/** What a guarded function returns when a call of it is refused before any call has returned. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused, type Refused, RefusedError, refusalOf } from '../../../src/index.ts';

const gearWith = (options: object = {}) => createSwitchgear({ agent: 'sailor', log: 'silent', env: {}, ...options });

/** A promise of a method that is called by an arrow function: nothing in its source shows a promise. */
const client = { read: (url: string) => Promise.resolve(url.length) };

for (const [name, fn] of Object.entries({
  'an arrow around fetch': (url: string) => fetch(url),
  'an arrow around a method': (url: string) => client.read(url),
  'a function compiled for an old target': Function(
    'return function read(url) { return __awaiter(this, void 0, void 0, function* () { return url; }); }',
  )() as (url: string) => Promise<string>,
  'a bound method': client.read.bind(client),
})) {
  test(`${name}: a refusal of its first call can be used as a promise`, async () => {
    using gear = gearWith();
    gear.breaker('read').trip();
    const read = gear.guard('read', fn as (url: string) => Promise<unknown>);
    assert.ok(isRefused(await read('u')));
    assert.ok(isRefused(await read('u').catch(() => 'error')));
    assert.ok(isRefused(await read('u').then((value) => value)));
    let isOver = false;
    const value = await read('u').finally(() => {
      isOver = true;
    });
    assert.ok(isRefused(value) && isOver);
    assert.equal(refusalOf(value)?.code, 'circuit_open');
    const [settled] = await Promise.allSettled([read('u')]);
    assert.ok(settled.status === 'fulfilled' && isRefused(settled.value));
  });

  test(`${name}: the same through guardAll, run and a task`, async () => {
    using gear = gearWith();
    gear.breaker('read').trip();
    const { read } = gear.guardAll({ read: fn as (url: string) => Promise<unknown> });
    assert.ok(isRefused(await read('u').catch(() => 'error')));
    const once = gear.run('read', fn as (url: string) => Promise<unknown>, { args: ['u'] });
    assert.ok(isRefused(await once.catch(() => 'error')));
    const result = await gear.task(() => read('u').then((value) => value));
    assert.ok(result.status === 'done' && isRefused(result.value));
  });
}

test('a refusal of the first call of a synchronous function is a value, which survives copies', async () => {
  using gear = gearWith();
  const add = gear.guard('add', (a: number, b: number) => a + b);
  gear.breaker('add').trip();
  const value = add(1, 2);
  assert.ok(isRefused(value));
  assert.equal(refusalOf(value)?.code, 'circuit_open');
  const keys = ['error', 'circuit_open', 'agent_name', 'session_id', 'remediation'];
  assert.deepEqual(Object.keys(value), keys);
  assert.deepEqual(Object.keys(structuredClone(value)), keys);
  assert.deepEqual(Object.keys(JSON.parse(JSON.stringify(value))), keys);
  assert.equal('then' in { ...value }, false);
  // Returned by an async function it is awaited, and a refusal all the same.
  const awaited = await (async () => add(1, 2))();
  assert.ok(isRefused(awaited) && !('then' in awaited));
  assert.equal(refusalOf(awaited)?.code, 'circuit_open');
});

test('a synchronous function stays synchronous around the refused first call of another one', () => {
  using gear = gearWith();
  gear.breaker('inner').trip();
  const inner = gear.guard('inner', (n: number) => n);
  const outer = gear.guard('outer', (n: number) => [inner(n)].at(0));
  assert.ok(isRefused(outer(1)));
  const reader = gear.guard('reader', (n: number) => inner(n));
  assert.ok(isRefused(reader(1)));
  gear.breaker('reader').trip();
  assert.ok(isRefused(reader(1)));
});

test('once a synchronous function has returned, its refusals have no other keys at all', () => {
  using gear = gearWith();
  const add = gear.guard('add', (a: number, b: number) => a + b);
  assert.equal(add(1, 2), 3);
  gear.breaker('add').trip();
  assert.equal(Reflect.ownKeys(add(1, 2) as object).length, 5);
});

test('once a promise was returned, a refusal is a promise, and an error is a rejection', async () => {
  using gear = gearWith();
  const read = gear.guard('read', (url: string) => client.read(url));
  assert.equal(await read('abc'), 3);
  gear.breaker('read').trip();
  assert.ok(read('abc') instanceof Promise);
  using throwing = gearWith({ onRefusal: 'throw' });
  const readOrThrow = throwing.guard('read', (url: string) => client.read(url));
  assert.equal(await readOrThrow('abc'), 3);
  throwing.breaker('read').trip();
  await assert.rejects(readOrThrow('abc'), RefusedError);
});

test('with onRefusal throw, a refused first call rejects where the source shows a promise', async () => {
  using gear = gearWith({ onRefusal: 'throw' });
  gear.breaker('read').trip();
  await assert.rejects(gear.guard('read', (url: string) => fetch(url))('u'), RefusedError);
  await assert.rejects(gear.guard('read', (url: string) => client.read(url), { async: true })('u'), RefusedError);
  assert.throws(() => gear.guard('read', (url: string) => url.length)('u'), RefusedError);
});

test('functions that only mention promises are not taken for promises', () => {
  using gear = gearWith({ onRefusal: 'throw' });
  gear.breaker('tool').trip();
  for (const fn of [
    (urls: string[]) => urls.map((url) => fetch(url)),
    (n: number) => {
      void Promise.resolve(n);
      return n;
    },
  ]) {
    assert.throws(() => gear.guard('tool', fn as () => unknown)(), RefusedError);
  }
});

test('the fallback of an async function is a promise', async () => {
  using gear = gearWith();
  gear.breaker('read').trip();
  const fallback = (() => 'from the cache') as never;
  assert.equal(
    await gear
      .guard('read', async (_: string) => 'page', { fallback })('u')
      .then((text) => text),
    'from the cache',
  );
});

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Expect<T extends true> = T;

function parse(text: string): number;
function parse(bytes: Uint8Array): Promise<number>;
function parse(input: string | Uint8Array): number | Promise<number> {
  return typeof input === 'string' ? input.length : Promise.resolve(input.length);
}

test('guard keeps type parameters, overloads and properties', async () => {
  using gear = gearWith();
  const first = gear.guard('first', <T>(list: readonly T[]) => list[0]);
  const greet = gear.guard('greet', async <T extends string>(name: T) => `Hello ${name}` as const);
  const measure = gear.guard('measure', parse);
  const { measure: measureToo } = gear.guardAll({ measure: parse });
  const search = gear.guard(
    'search',
    Object.assign((query: string) => query.length, { schema: { type: 'object' } }),
  );
  const loose = gear.guard('loose', (input: string): string | Promise<string> => input);
  const withOptions = gear.guard('read', async (id: number) => id, { fallback: async (_, id) => id });
  const results = [
    first([1, 2]),
    await greet('Ann'),
    measure('abc'),
    await measure(new Uint8Array(2)),
    measureToo('abcd'),
    search.schema.type,
    search('abcde'),
    loose('a'),
    await withOptions(6),
  ];
  assert.deepEqual(results, [1, 'Hello Ann', 3, 2, 4, 'object', 5, 'a', 6]);
  const one = first(['a']);
  const hello = greet('Bob');
  const three = measure('abc');
  const two = measure(new Uint8Array(2));
  const kinds: [
    Expect<Equal<typeof one, string | undefined | Refused>>,
    Expect<Equal<typeof hello, Promise<'Hello Bob' | Refused>>>,
    Expect<Equal<typeof three, number | Refused>>,
    Expect<Equal<typeof two, Promise<number | Refused>>>,
  ] = [true, true, true, true];
  assert.equal(kinds.length, 4);
  // @ts-expect-error: no overload takes a number.
  measure(3);
  await Promise.all([hello, two]);
});
