/** Texts in a store that nobody of ours wrote: they are told of and written over, and nobody goes without a breaker. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createClient } from 'redis';
import type { Entry } from '../../src/core/event.ts';
import { createSwitchgear, refusalOf } from '../../src/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { checksumOf } from '../../src/stores/sqlite/file.ts';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { blockOf } from '../../src/stores/sqlite/schema.ts';
import { testWithRedis } from '../redis-server.ts';
import { storePlace, testOn, until } from './both-stores.ts';

const { folder, server } = storePlace();

/** How a store is opened at a place, and how a text gets into it past all stores. */
interface Kind {
  open(place: string): Promise<SqliteStore>;
  put(place: string, key: string, version: number, text: string): Promise<void>;
}

const pathOf = (place: string) => join(folder, `${place}.db`);
const kinds: Readonly<Record<string, Kind>> = {
  'in a file': {
    open: async (place) => sqliteStore({ path: pathOf(place), waitMs: 1_000 }),
    async put(place, key, version, text) {
      const db = new DatabaseSync(pathOf(place));
      db.exec('PRAGMA busy_timeout = 2000');
      db.prepare('UPDATE cells SET version = ?, block = ?, state = ?, crc = ? WHERE key = ?').run(
        version,
        blockOf(version),
        text,
        checksumOf(key, version, text),
        key,
      );
      db.close();
    },
  },
  'in Redis': {
    open: async (prefix) => redisStore({ url: server().url, prefix, graceMs: 0, deadlineMs: 1_000 }),
    async put(prefix, key, version, text) {
      const client = await createClient({ url: server().url }).connect();
      await client.hSet(`{${prefix}}:c:${key}`, { v: version, s: text });
      await client.zAdd(`{${prefix}}:index`, { score: version, value: `c:${key}` });
      await client.hSet(`{${prefix}}:store`, { version });
      client.destroy();
    },
  },
};

/** A process with a tool that fails. */
function side(store: SqliteStore) {
  const gear = createSwitchgear({ store, project: 'p', log: 'silent', env: {} });
  const heard: Entry[] = [];
  gear.onEntry((entry) => entry.type.startsWith('store-') && heard.push(entry));
  let ran = 0;
  const tool = gear.guard('x', async () => {
    ran++;
    throw new Error('down');
  });
  const fail = async () => {
    const answer = await (tool() as Promise<unknown>).catch(() => undefined);
    await store.shared.settled();
    return refusalOf(answer)?.code;
  };
  return { store, gear, heard, fail, ran: () => ran };
}

let places = 0;
for (const [name, { open, put }] of Object.entries(kinds)) {
  const test = testOn(name);
  for (const text of ['{"phase":"op', 'null', '""', '7']) {
    test(`${name}: ${text} in place of a breaker is reported once and overwritten, and counts go on`, async () => {
      const place = `u${++places}`;
      const knows = side(await open(place));
      for (let call = 0; call < 5; call++) await knows.fail();
      assert.equal(await knows.fail(), 'circuit_open');
      const [stored] = await knows.store.shared.read('breaker/', 1);
      const { key, version } = stored!;
      await put(place, key, version + 7, text);
      knows.store.shared.refresh();
      await until(async () => (await knows.fail()) === 'circuit_open' && knows.heard.length >= 2);
      assert.deepEqual(
        knows.heard.map(({ type }) => type),
        ['store-degraded', 'store-recovered'],
      );
      const reasons = JSON.stringify(knows.heard);
      assert.match(reasons, /what is stored under \\"breaker\/p\/.*\\" cannot be read/);
      assert.match(reasons, /continues with the values it last read, and writes over it/);
      assert.equal(knows.ran(), 5);

      const fresh = side(await open(place));
      for (let call = 0; call < 5; call++) assert.equal(await fresh.fail(), undefined);
      assert.equal(await fresh.fail(), 'circuit_open'); // It counts as well as one that is new.
      await until(() => fresh.heard.length >= 2);
      assert.match(
        JSON.stringify(fresh.heard),
        /starts empty: the counts of other processes are lost, and writes over it/,
      );
      assert.equal(fresh.heard.length, 2);
      const [healed] = await fresh.store.shared.read('breaker/', 1);
      assert.ok(healed!.version > version + 7);
      assert.equal((healed!.state as { phase: string }).phase, 'open');
      assert.equal(await knows.fail(), 'circuit_open');
      for (const { gear } of [knows, fresh]) gear.dispose();
    });
  }
}

testWithRedis('a store in Redis that forgot is told again, although one text of it cannot be read', async () => {
  const prefix = `u${++places}`;
  const { open, put } = kinds['in Redis']!;
  const store = await open(prefix);
  const cell = (key: string) => store.cell(key, () => ({ n: 0 }));
  for (const key of ['good', 'bad']) {
    const update = () => ({ state: { n: 1 } });
    assert.equal((await store.shared.commit({ changes: [{ cell: cell(key), update }] })).status, 'committed');
  }
  await put(prefix, 'bad', 9, 'nonsense');
  await until(() => cell('bad').version === 9);
  const client = await createClient({ url: server().url }).connect();
  await client.flushAll();
  await until(async () => (await client.exists(`{${prefix}}:c:good`)) === 1);
  await until(() => store.shared.health.state === 'shared');
  assert.deepEqual(cell('bad').state, { n: 1 });
  const stored = await store.shared.read('', 10);
  assert.equal(stored.filter(({ key }) => !key.startsWith('card/')).length, 1);
  client.on('error', () => {}); // The server ends before it.
  client.destroy();
  store.close();
});
