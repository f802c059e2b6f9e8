/** Views of cells that are closed while changes of them are on their way. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { redisStore } from '../../src/stores/redis/index.ts';
import type { SqliteStore } from '../../src/stores/sqlite/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { storePlace, testOn, until } from './both-stores.ts';

const { folder, server } = storePlace();
const path = join(folder, 'gear.db');

const kinds = {
  'in a file': {
    open: async () => sqliteStore({ path, waitMs: 10 }),
    async whileAway(work: () => Promise<void>) {
      const other = new DatabaseSync(path);
      other.exec('BEGIN IMMEDIATE');
      await work();
      other.exec('ROLLBACK');
      other.close();
    },
  },
  'in Redis': {
    open: async () => redisStore({ url: server().url, prefix: 'closed', graceMs: 0, deadlineMs: 50 }),
    async whileAway(work: () => Promise<void>) {
      server().signal('SIGSTOP');
      await work();
      server().signal('SIGCONT');
    },
  },
};

/** Adds a number to a list, and closes the view of the list after that. */
function add({ cell, shared }: SqliteStore, number: number) {
  const list = cell<readonly number[]>('list', () => []);
  const update = (state: readonly number[]) => ({ state: [...state, number] });
  return shared.commit({ changes: [{ cell: list, update } as never], queueIfUnavailable: true }).then(({ status }) => {
    shared.evict?.('list');
    return status;
  });
}

for (const [name, { open, whileAway }] of Object.entries(kinds)) {
  testOn(name)(`the view of a cell stays open while later changes are on their way: ${name}`, async (context) => {
    const store = await open();
    context.after(() => store.close());
    const readList = async () => (await store.shared.read('list', 1))[0]?.state;
    assert.deepEqual(await Promise.all([add(store, 1), add(store, 2)]), ['committed', 'committed']);
    assert.deepEqual(await readList(), [1, 2]);
    await whileAway(async () => assert.equal(await add(store, 3), 'queued'));
    await until(async () => ((await readList()) as readonly number[]).length === 3);
    assert.deepEqual(await readList(), [1, 2, 3]);
  });
}
