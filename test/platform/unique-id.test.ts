/** Ids in a store that is shared: tasks, cards and calls of one session never have the same one by accident. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createSwitchgear } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { makeIds } from './unique-id-child.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-ids-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Each id that the journal of a file has begun something with. */
async function idsIn(path: string) {
  const store = sqliteStore({ path });
  const entries = await store.shared.entries(0, 1_000);
  const cards = store.cards().map(({ id }) => id);
  store.close();
  const tasks = entries.flatMap((entry) => (entry.type === 'task-started' ? [entry.task] : []));
  const calls = entries.flatMap((entry) =>
    entry.type === 'action-allowed' || entry.type === 'action-refused' ? [entry.action.id] : [],
  );
  return { tasks, calls, cards };
}

async function areApart(path: string): Promise<void> {
  const { tasks, calls, cards } = await idsIn(path);
  assert.equal(tasks.length, 2);
  assert.equal(calls.length, 6);
  assert.ok(cards.length >= 2);
  for (const ids of [tasks, calls, cards]) assert.equal(new Set(ids).size, ids.length, JSON.stringify(ids));
}

test('two stores on one file create different ids in one session', async () => {
  const path = join(folder, 'stores.db');
  const stores = [sqliteStore({ path }), sqliteStore({ path })];
  for (const store of stores) await makeIds(store);
  for (const store of stores) store.close();
  await areApart(path);
});

test('two gears on one store create different ids in one session', async () => {
  const path = join(folder, 'gears.db');
  const store = sqliteStore({ path });
  await makeIds(store);
  await makeIds(store);
  store.close();
  await areApart(path);
});

test('two processes on one file create different ids in one session', async () => {
  const path = join(folder, 'processes.db');
  const child = fileURLToPath(new URL('./unique-id-child.ts', import.meta.url));
  const run = () => promisify(execFile)(process.execPath, [child, path]);
  await Promise.all([run(), run()]);
  await areApart(path);
});

test('a gear without a shared store numbers its calls, and its tasks by session', async () => {
  const gear = createSwitchgear({ session: 'same', log: 'silent', env: {}, policy: { journal: { level: 'all' } } });
  const tool = gear.guard('look', () => 1);
  await gear.task({}, () => tool());
  const allowed = gear.journal().find((entry) => entry.type === 'action-allowed');
  assert.equal(allowed?.task, 't-same-1');
  assert.equal(allowed?.action.id, 2);
});
