/** Plain functions in a loop written by hand. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, RefusedError } from 'switchgear';
import { protect } from 'switchgear/adapters/functions';
import { adapterSuite, type HostScene } from 'switchgear/testing';
import { playScene } from './plain-loop.ts';

type Input = Readonly<Record<string, unknown>>;

adapterSuite({
  name: 'plain functions',
  lacks: {
    asks: 'functions have no way to ask a person: the approver of the gear does',
    meters: 'functions call no model',
    models: 'functions call no model',
    delegates: 'functions are tools: see gear.delegate',
    cancels: 'a function gets no signal of a host',
  },
  run(scene: HostScene) {
    const { gear } = scene;
    const own = Object.entries(scene.tools).map(([name, tool]) => [name, async (input: Input) => tool(input)]);
    const bare: Record<string, (input: Input) => Promise<unknown>> = Object.fromEntries(own);
    const tools = gear === undefined ? bare : protect(bare, { gear });
    return playScene(scene, async (tool, input) => {
      try {
        return String(await tools[tool]?.(input));
      } catch (error) {
        return String(error);
      }
    });
  },
});

test('a synchronous function stays synchronous, throws a refusal, and has its own name', () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  function lookUp(word: string): number {
    if (word === '') throw new TypeError('no word');
    return word.length;
  }
  const guarded = protect(lookUp, { gear });
  assert.equal(guarded('tides'), 5);
  for (let attempt = 0; attempt < 5; attempt++) assert.throws(() => guarded(''), TypeError);
  assert.throws(() => guarded('tides'), RefusedError);
  assert.equal(gear.breaker('lookUp').state, 'OPEN');
});

test('values beside functions stay as they are, and a function without a name is an error', () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const tools = protect(
    {
      limit: 3,
      used: 0,
      get left() {
        return this.limit - this.used;
      },
      use() {
        this.used++;
        return this.left;
      },
    },
    { gear },
  );
  assert.deepEqual([tools.use(), tools.use(), tools.left, tools.used], [2, 1, 1, 2]);
  assert.deepEqual(protect({}), {});
  assert.throws(() => protect(() => 1), /has no name/);
});

class Counter {
  #total = 0;
  readonly label: string;
  constructor(label: string) {
    this.label = label;
  }
  add(amount: number): number {
    this.#total += amount;
    return this.#total;
  }
}

class Tools extends Counter {
  #key = 'secret';
  format = (text: string) => `${this.label}: ${text}`;
  get key(): string {
    return this.#key;
  }
  set key(key: string) {
    this.#key = key;
  }
  search(query: string, _page = 1): string {
    if (query === '') throw new TypeError('no query');
    return `${query} with ${this.#key}`;
  }
  async read(url: string): Promise<string> {
    return `${this.search(url)} read`;
  }
  where(_condition: string): this {
    return this;
  }
  async connect(): Promise<this> {
    return this;
  }
}
Object.assign(Tools.prototype.search, { schema: { type: 'object' } });

test('the methods of an instance are guarded: own, inherited, async, with private fields and accessors', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const tools = protect(new Tools('library'), { gear });
  assert.ok(tools instanceof Tools && tools instanceof Counter);
  await gear.task(async (task) => {
    assert.equal(tools.search('tides'), 'tides with secret');
    assert.equal(await tools.read('url'), 'url with secret read');
    assert.equal(tools.add(2), 2);
    assert.equal(tools.add(2), 4);
    assert.equal(tools.format('a'), 'library: a');
    const { search } = tools;
    assert.equal(search('stars'), 'stars with secret');
    assert.equal(task.snapshot().toolCalls, 6);
  });
  tools.key = 'other';
  assert.equal(tools.search('tides'), 'tides with other');
  assert.deepEqual([tools.key, tools.label, String(tools)], ['other', 'library', '[object Object]']);
  gear.breaker('search').trip();
  assert.throws(() => tools.search('tides'), RefusedError);
  gear.breaker('read').trip();
  await assert.rejects(tools.read('url'), RefusedError);
});

test('a method of an instance that fails opens its breaker, and keeps name, length and properties', () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const tools = protect(new Tools('library'), { gear });
  const { search } = tools;
  assert.deepEqual([search.name, search.length, Reflect.get(search, 'schema')], ['search', 1, { type: 'object' }]);
  assert.equal(tools.search, tools.search);
  for (let attempt = 0; attempt < 5; attempt++) assert.throws(() => tools.search(''), TypeError);
  assert.throws(() => tools.search('tides'), RefusedError);
});

test('a method that returns its instance returns the guarded one', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const tools = protect(new Tools('library'), { gear });
  gear.breaker('search').trip();
  assert.throws(() => tools.where('a').search('tides'), RefusedError);
  const connected = await tools.connect();
  assert.throws(() => connected.search('tides'), RefusedError);
  assert.equal(protect(tools, { gear }), tools);
});

test('a method that is assigned later is guarded, and a frozen one is an error', () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const tools = protect(new Tools('library'), { gear });
  gear.breaker('format').trip();
  tools.format = (text) => text;
  assert.throws(() => tools.format('a'), RefusedError);
  assert.throws(() => protect(Object.freeze(new Tools('library')), { gear }), /"format" of a frozen instance/);
});

test('guarded functions keep name, length and properties, and a list of functions stays a list', () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  function find(query: string, _page: number): string {
    return query;
  }
  const search = Object.assign(find, { schema: { type: 'object' } });
  const tools = protect({ search }, { gear });
  assert.deepEqual([tools.search.name, tools.search.length, tools.search.schema], ['find', 2, { type: 'object' }]);
  const [first] = protect([search], { gear });
  gear.breaker('find').trip();
  assert.throws(() => first?.('tides', 1), RefusedError);
});

test('a refused first call rejects where the function shows that it returns a promise, and else throws', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const tools = protect({ read: (url: string) => fetch(url), add: (a: number) => a }, { gear });
  gear.breaker('read').trip();
  gear.breaker('add').trip();
  await assert.rejects(tools.read('u'), RefusedError);
  assert.throws(() => tools.add(1), RefusedError);
});

test('with async: true a function that was never called rejects a refusal and does not throw', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const readPage = (url: string): Promise<string> => Promise.resolve(url);
  const guarded = protect({ readPage }, { gear, async: true });
  gear.breaker('readPage').trip();
  const refused = guarded.readPage('https://example.com');
  assert.ok(refused instanceof Promise);
  await assert.rejects(refused, RefusedError);
});
