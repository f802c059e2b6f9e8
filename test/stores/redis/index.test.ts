/** The Redis store against a real redis-server. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { createClient } from 'redis';
import { SwitchgearError } from '../../../src/core/error.ts';
import type { Entry } from '../../../src/core/event.ts';
import type { PendingEntry, StoreHint } from '../../../src/ports/store.ts';
import { type RedisClient, type RedisOptions, type RedisStore, redisStore } from '../../../src/stores/redis/index.ts';
import { storeStories } from '../../../src/testing/store-suite.ts';
import { type RedisServer, startRedis, startRedisOfFile, testWithRedis as test } from '../../redis-server.ts';

let server: RedisServer;
let prefixes = 0;
before(async () => {
  server = (await startRedisOfFile())!;
});
after(() => server?.stop());

storeStories(
  test,
  'in Redis',
  (clock, place) => redisStore({ url: server.url, prefix: place, clock, graceMs: 0, deadlineMs: 500 }),
  'shared',
);

const open = (more: Partial<RedisOptions> = {}) =>
  redisStore({ url: server.url, prefix: `t${++prefixes}`, graceMs: 0, deadlineMs: 500, ...more });

async function until(isSo: () => boolean | Promise<boolean>, ms = 4_000): Promise<void> {
  for (const began = performance.now(); performance.now() - began < ms; ) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.fail(`it did not happen within ${ms} ms`);
}

async function command(...args: string[]): Promise<unknown> {
  const client = await createClient({ url: server.url, RESP: 2 }).connect();
  const reply = await client.sendCommand(args);
  client.destroy();
  return reply;
}

const plusOne = ({ n }: { n: number }) => ({ state: { n: n + 1 } });
const counter = (store: RedisStore) => store.cell('c', () => ({ n: 0 }));

test('an invalid address, a wrong password and a bad prefix each give a one-sentence error', async () => {
  const messageOf = async (options: RedisOptions) => {
    const error = await redisStore(options).then(
      (store) => store.close(),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof SwitchgearError, String(error));
    return `${error.code}: ${error.message}`;
  };
  assert.match(await messageOf({ url: 'http://x' }), /^invalid_argument: url must be redis:\/\/host:port or rediss:/);
  assert.match(await messageOf({ url: 'redis://' }), /^invalid_argument: url must be/);
  assert.match(await messageOf({ url: server.url, prefix: '{x}' }), /^invalid_argument: prefix must be a word/);
  for (const [option, message] of [
    [{ deadline: 20 }, /redisStore has no "deadline"; it has url, client, prefix, deadlineMs/],
    [{ deadlineMs: 0 }, /deadlineMs must be a number above 0, got 0/],
    [{ deadlineMs: '20' }, /deadlineMs must be a number/],
    [{ keysMax: 0.5 }, /keysMax must be a whole number from 1/],
    [{ journalMax: Number.NaN }, /journalMax must be a whole number from 1/],
    [{ graceMs: -1 }, /graceMs must be a number from 0/],
    [{ client: {} }, /client must be a function/],
    [{ clock: {} }, /clock must be a clock/],
  ] as const) {
    assert.match(await messageOf({ url: server.url, ...option } as never), message);
  }
  assert.match(await messageOf(undefined as never), /the options must be an object/);
  const locked = await startRedis(['--requirepass', 'right']);
  const wrong = `redis://default:s3cret@127.0.0.1:${locked.port}`;
  const message = await messageOf({ url: wrong });
  assert.match(message, /^store_refused: the store cannot be used: Redis refused the user or the password$/);
  assert.doesNotMatch(message, /s3cret/);
  await locked.stop();
});

test('a store that is unreachable at the start is degraded, and shared once it answers', async () => {
  const own = await startRedis();
  own.signal('SIGKILL');
  await new Promise((resolve) => setTimeout(resolve, 50));
  const store = await redisStore({ url: own.url, graceMs: 0, deadlineMs: 200 });
  assert.equal(store.shared.health.state, 'degraded');
  assert.equal(store.shared.health.reason, 'no Redis server answers at this address');
  const cell = counter(store);
  assert.equal((await store.shared.commit({ changes: [{ cell, update: plusOne }] })).status, 'unavailable');
  const heard: Entry[] = [];
  const tell = (name: string) => {
    const note: PendingEntry = { body: { type: 'task-missing', name }, place: {}, atMs: 1 };
    const update = ({ n }: { n: number }) => ({ state: { n: n + 1 }, entries: [note] });
    return store.shared.commit({
      changes: [{ cell, update }],
      queueIfUnavailable: true,
      onCommitted: (entries) => void heard.push(...entries),
    });
  };
  assert.equal((await tell('one')).status, 'queued');
  assert.equal((await tell('two')).status, 'queued');
  assert.deepEqual(cell.state, { n: 2 });
  assert.deepEqual(heard, []);
  const hints: StoreHint[] = [];
  store.shared.watch((hint) => hints.push(hint));
  await own.restart();
  await until(() => store.shared.health.state === 'shared');
  assert.ok(hints.some(({ type }) => type === 'recovered'));
  assert.deepEqual((await store.shared.read('c', 1))[0]?.state, { n: 2 });
  assert.equal(heard.length, 2);
  assert.deepEqual(heard, await store.shared.entries(0, 10)); // Each with the number it has in the journal.
  store.close();
  await own.stop();
});

/** Messages that clients of these stores were given. */
let messages = 0;
const clientOf = (RESP: 2 | 3) => (): RedisClient => {
  const socket = { reconnectStrategy: false } as const;
  const client = createClient({ url: server.url, RESP, disableOfflineQueue: true, socket }) as unknown as RedisClient;
  const subscribe = client.subscribe.bind(client);
  client.subscribe = (channel, listener) =>
    subscribe(channel, (message) => {
      messages++;
      listener(message);
    });
  return client;
};

/** A client of RESP 3 listens and asks on one line, one of RESP 2 on two. */
for (const [lines, client] of [
  ['line', clientOf(3)],
  ['lines of RESP 2', clientOf(2)],
] as const) {
  test(`writes arrive exactly once when the ${lines} break, and other clients get the hints`, async () => {
    const prefix = `t${++prefixes}`;
    const store = await open({ client, prefix });
    const other = await open({ client, prefix });
    const cell = counter(store);
    const transactions: Promise<{ readonly status: string }>[] = [];
    for (let at = 0; at < 300; at++) {
      transactions.push(
        store.shared.commit({
          changes: [{ cell, update: plusOne }],
          adds: [{ key: 's', amount: 1 }],
          queueIfUnavailable: true,
        }),
      );
      if (at % 60 === 30) for (const type of ['normal', 'pubsub']) await command('CLIENT', 'KILL', 'TYPE', type);
      await new Promise((resolve) => setTimeout(resolve, at % 10 === 0 ? 2 : 0));
    }
    const statuses = (await Promise.all(transactions)).map(({ status }) => status);
    assert.ok(statuses.every((status) => status === 'committed' || status === 'queued'));
    assert.ok(statuses.includes('queued'), 'no line broke');
    await until(() => store.shared.health.state === 'shared');
    await store.shared.settled();
    assert.deepEqual((await store.shared.read('c', 1))[0]?.state, { n: 300 });
    assert.deepEqual(cell.state, { n: 300 }); // Nor does anything count twice here.
    assert.deepEqual(await store.shared.commit({ adds: [{ key: 's', amount: 0 }] }), {
      status: 'committed',
      totals: [300],
      windowCounts: [],
    });
    await until(() => counter(other).state.n === 300);
    messages = 0;
    await store.shared.commit({ changes: [{ cell: counter(store), update: plusOne }] });
    await until(() => counter(other).state.n === 301 && messages >= 2); // One for each of them, by whichever line.
    store.close();
    other.close();
  });
}

test('a flushed store is restored from the caches of its clients', async () => {
  const prefix = `t${++prefixes}`;
  const [one, two] = [await open({ prefix }), await open({ prefix })];
  const cell = counter(one);
  await one.shared.commit({ changes: [{ cell, update: plusOne }], adds: [{ key: 's', amount: 7 }] });
  const window = { key: 'm', keepMs: 60_000, cap: 10 };
  const atMs = one.clock.nowMs();
  for (const store of [one, two]) await store.shared.commit({ marks: [{ ...window, id: store.shared.process, atMs }] });
  const { secret } = one.shared;
  await command('FLUSHALL');
  // Without a time of grace money is given out at once: the sum has to be back, which only one of them knows.
  const isBack = async (part: string) => (await command('EXISTS', `{${prefix}}:${part}`)) === 1;
  await until(async () => (await isBack('c:c')) && (await isBack('s:s')));
  const fresh = await open({ prefix });
  await until(() => fresh.cell('c', () => ({ n: 0 })).state.n === 1);
  assert.equal(fresh.shared.secret, secret);
  const result = await fresh.shared.commit({ adds: [{ key: 's', amount: 4, ceiling: 10 }] });
  assert.deepEqual(result, { status: 'rejected', by: 'counter', key: 's' });
  await until(async () => (await command('ZCARD', `{${prefix}}:m:m`)) === 2);
  const third = { ...window, id: 'third', atMs: atMs + 1, most: 2 };
  assert.deepEqual(await fresh.shared.commit({ marks: [third] }), { status: 'rejected', by: 'mark', key: 'm' });
  for (const store of [one, two, fresh]) store.close();
});

test('a store whose versions restarted is detected at the next change, and restored', async () => {
  const prefix = `t${++prefixes}`;
  const store = await open({ prefix });
  const cell = counter(store);
  for (let at = 0; at < 3; at++) await store.shared.commit({ changes: [{ cell, update: plusOne }] });
  const { version } = cell;
  await command('DEL', `{${prefix}}:store`);
  const result = await store.shared.commit({ changes: [{ cell, update: plusOne }], queueIfUnavailable: true });
  assert.equal(result.status, 'queued');
  await until(() => store.shared.health.state === 'shared');
  await until(async () => (await store.shared.read('c', 1))[0]?.state !== undefined && cell.version > version);
  assert.deepEqual((await store.shared.read('c', 1))[0]?.state, { n: 4 });
  assert.ok(Number(await command('HGET', `{${prefix}}:store`, 'version')) > version);
  store.close();
});

test('polling finds a change whose hint was lost', async () => {
  const prefix = `t${++prefixes}`;
  const [one, two] = [await open({ prefix }), await open({ prefix })];
  const theirs = counter(two);
  await command('SET', 'elsewhere', '1');
  // Written past the store's own messages, as if they had been lost.
  await one.shared.commit({ changes: [{ cell: counter(one), update: plusOne }] });
  await until(() => theirs.state.n === 1, 1_500);
  await command('HSET', `{${prefix}}:c:c`, 'v', '50', 's', '{"n":9}');
  await command('ZADD', `{${prefix}}:index`, '50', 'c:c');
  await command('HSET', `{${prefix}}:store`, 'version', '50');
  await until(() => theirs.state.n === 9, 2_500);
  one.close();
  two.close();
});

test('keys of a task expire, and a prefix has a limited number of keys', async () => {
  const prefix = `t${++prefixes}`;
  const store = await open({ prefix, keysMax: 3 });
  const short = store.cell('task/1', () => ({ n: 0 }), { keepMs: 400 });
  await store.shared.commit({ changes: [{ cell: short, update: plusOne }] });
  assert.ok(Number(await command('PTTL', `{${prefix}}:c:task/1`)) > 0);
  for (const key of ['a', 'b']) {
    const cell = store.cell(key, () => ({ n: 0 }));
    await store.shared.commit({ changes: [{ cell, update: plusOne }] });
  }
  const more = store.cell('d', () => ({ n: 0 }));
  const full = await store.shared.commit({ changes: [{ cell: more, update: plusOne }] });
  assert.deepEqual(full, { status: 'rejected', by: 'full', key: 'd' });
  await until(async () => (await command('ZCARD', `{${prefix}}:index`)) === 2, 3_000);
  assert.equal((await store.shared.commit({ changes: [{ cell: more, update: plusOne }] })).status, 'committed');
  store.close();
});

test('an expired cell is created again by a client that still caches it', async () => {
  const prefix = `t${++prefixes}`;
  const stores = [await open({ prefix }), await open({ prefix })] as const;
  const [one, two] = stores.map((store) => store.cell('k', () => ({ n: 0 }), { keepMs: 100 }));
  await stores[0].shared.commit({ changes: [{ cell: one!, update: plusOne }] });
  await until(() => two!.state.n === 1);
  await until(async () => (await command('EXISTS', `{${prefix}}:c:k`)) === 0);
  assert.equal((await stores[1].shared.commit({ changes: [{ cell: two!, update: plusOne }] })).status, 'committed');
  assert.deepEqual(two!.state, { n: 1 });
  assert.equal(stores[1].shared.health.state, 'shared');
  for (const store of stores) store.close();
});

test('a cell created again after a drop does not inherit the old expiry', async () => {
  const prefix = `t${++prefixes}`;
  const store = await open({ prefix });
  await store.shared.commit({ changes: [{ cell: counter(store), update: plusOne }] });
  store.drop('c');
  await until(async () => (await command('ZSCORE', `{${prefix}}:ends`, 'c:c')) !== null);
  assert.equal(
    (await store.shared.commit({ changes: [{ cell: counter(store), update: plusOne }] })).status,
    'committed',
  );
  assert.equal(await command('ZSCORE', `{${prefix}}:ends`, 'c:c'), null);
  assert.deepEqual((await store.shared.read('c', 1))[0]?.state, { n: 1 });
  store.close();
});

test('all keys of a prefix have one hash tag, and no other key is written', async () => {
  await command('FLUSHALL');
  const prefix = `t${++prefixes}`;
  const store = await open({ prefix });
  await store.shared.commit({
    changes: [{ cell: counter(store), update: plusOne }],
    adds: [{ key: 's', amount: 1 }],
    marks: [{ key: 'm', id: '1', atMs: 1, keepMs: 60_000, cap: 5 }],
    entries: [{ body: { type: 'task-missing', name: 'x' }, place: {}, atMs: 1 }],
  });
  const keys = ((await command('KEYS', '*')) as string[]).filter((key) => !/^\{t\d+\}:/.test(key));
  assert.deepEqual(keys, []);
  store.close();
});

test('a stale cached cell is read again before an update refuses, even after other writes', async () => {
  const one = await open();
  const two = await open({ prefix: `t${prefixes}` });
  const cell = counter(one);
  const theirs = two.cell('c', () => ({ n: 0 }));
  const other = two.cell('other', () => ({ n: 0 }));
  await one.shared.commit({ changes: [{ cell, update: plusOne }] });
  await until(() => theirs.state.n === 1);
  for (let at = 2; at < 20; at += 2) {
    await one.shared.commit({ changes: [{ cell, update: plusOne }] });
    await two.shared.commit({ changes: [{ cell: other, update: plusOne }] });
    const update = ({ n }: { n: number }) => (n === at ? { state: { n: n + 1 } } : 'refuse');
    const result = await two.shared.commit({ changes: [{ cell: theirs, update }] });
    assert.deepEqual([result.status, theirs.state.n], ['committed', at + 1]);
    await until(() => cell.state.n === at + 1);
  }
  one.close();
  two.close();
});

/** A client that does something else with what it is to send. */
function clientWith(ask: (args: string[], send: (args: string[]) => Promise<unknown>) => Promise<unknown>) {
  return () => {
    const client = createClient({ url: server.url, RESP: 3 }) as unknown as RedisClient;
    const send = client.sendCommand.bind(client);
    return Object.assign(client, { sendCommand: (args: string[]) => ask(args, send) });
  };
}

test('a client that returns numbers as texts works', async () => {
  const asText = (reply: unknown) => (typeof reply === 'number' ? String(reply) : reply);
  const store = await open({ client: clientWith((args, send) => send(args).then(asText)) });
  const cell = counter(store);
  for (let at = 1; at <= 3; at++) {
    assert.equal((await store.shared.commit({ changes: [{ cell, update: plusOne }] })).status, 'committed');
  }
  assert.deepEqual([cell.state.n, store.shared.health.state], [3, 'shared']);
  store.close();
});

test('a change without a hint is seen at the next read of the store', async () => {
  const one = await open();
  const silent = clientWith(async (args, send) => (args[0] === 'PUBLISH' ? 0 : send(args)));
  const two = await open({ prefix: `t${prefixes}`, client: silent });
  const [cell, theirs] = [counter(one), counter(two)];
  await one.shared.commit({ changes: [{ cell, update: plusOne }] });
  await until(() => theirs.state.n === 1);
  for (let at = 0; at < 3; at++) await two.shared.commit({ changes: [{ cell: theirs, update: plusOne }] });
  await until(() => cell.state.n === 4);
  one.close();
  two.close();
});

test('a transaction that keeps losing to others succeeds after a later read of the store', async () => {
  const key = `{t${prefixes + 1}}:c:c`;
  let isOutrun = false;
  const slow = clientWith(async (args, send) => {
    if (isOutrun && args[0] === 'EVALSHA' && args.includes(key)) {
      const version = await command('HINCRBY', key.replace('c:c', 'store'), 'version', '1');
      await command('HSET', key, 'v', String(version));
    }
    return send(args);
  });
  const store = await open({ client: slow, deadlineMs: 5_000 });
  const cell = counter(store);
  await store.shared.commit({ changes: [{ cell, update: plusOne }] });
  isOutrun = true;
  const result = await store.shared.commit({ changes: [{ cell, update: plusOne }], queueIfUnavailable: true });
  isOutrun = false;
  assert.equal(result.status, 'queued');
  await store.shared.settled();
  const other = await open({ prefix: `t${prefixes}` });
  assert.equal(counter(other).state.n, 2);
  other.close();
  store.close();
});

test('the list of transactions of a connection stays bounded', async () => {
  const store = await open();
  const cell = counter(store);
  for (let at = 0; at < 1_000; at++) await store.shared.commit({ changes: [{ cell, update: plusOne }] });
  const [list] = (await command('KEYS', `{t${prefixes}}:p:*`)) as string[];
  const length = (await command('LLEN', list!)) as number;
  assert.equal(cell.state.n, 1_000);
  assert.ok(length >= 256 && length < 600, String(length));
  store.close();
});

test('a script that the server forgot is sent again', async () => {
  const store = await open();
  const cell = counter(store);
  await store.shared.commit({ changes: [{ cell, update: plusOne }] });
  await command('SCRIPT', 'FLUSH');
  assert.equal((await store.shared.commit({ changes: [{ cell, update: plusOne }] })).status, 'committed');
  assert.deepEqual(cell.state, { n: 2 });
  store.close();
});
