import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { inputKey, readInput, removeInput, storeInput } from '../../../src/guard/approval/sealed-input.ts';
import { readCards } from '../../../src/operator/cards.ts';
import type { CrossProcessStore } from '../../../src/ports/store.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { redisStore } from '../../../src/stores/redis/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { startRedis, testWithRedis } from '../../redis-server.ts';

test('the input of a question is encrypted in the store, and belongs to its card', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-sealed-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'state.db');
  const store = sqliteStore({ path });
  context.after(() => store.close());
  storeInput(store, 'card-1', 'canary-4711', 60_000);
  assert.equal(await readInput(store, 'card-1'), 'canary-4711');
  const files = ['', '-wal'].map((end) => readFileSync(path + end, 'latin1')).join('');
  assert.equal(files.includes('canary'), false);
  const [sealed] = await store.shared.read(inputKey('card-1'), 1);
  const cell = store.cell(inputKey('card-2'), () => ({ value: null }) as unknown);
  store.shared.commitNow({ changes: [{ cell, update: () => ({ state: sealed!.state }) }] });
  assert.equal(await readInput(store, 'card-2'), undefined, 'moved to another card');
  removeInput(store, 'card-1');
  assert.equal(await readInput(store, 'card-1'), undefined);
  removeInput(store, 'card-1');
});

test('a store of one process keeps no input', async () => {
  const store = memoryStore();
  storeInput(store, 'card-1', 'canary', 1_000);
  removeInput(store, 'card-1');
  assert.deepEqual([...store.keys()], []);
  assert.equal(await readInput(store, 'card-1'), undefined);
});

/** Opens a store, closes it after the test. */
function openFile(context: TestContext, path: string) {
  const store = sqliteStore({ path });
  context.after(() => store.close());
  return store;
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await setTimeout(20);
}

test('attack 08: no input is in a SQLite file after the timeout, not even in its last cell', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-sealed-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'state.db');
  const store = openFile(context, path);
  storeInput(store, 'card-1', 'canary', 60_000);
  storeInput(store, 'card-2', 'canary', 300);
  assert.equal(await readInput(store, 'card-2'), 'canary');
  await until(async () => (await readInput(store, 'card-2')) === undefined);
  // The sweep of the store removes it without any other call.
  await until(async () => (await store.shared.read(inputKey('card-2'), 1)).length === 0);
  const other = openFile(context, path);
  assert.equal(await readInput(other, 'card-1'), 'canary', 'the open question keeps its input');
});

test('attack 08: what is left of an expired question is removed by whoever reads the cards', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-sealed-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'state.db');
  const brief = sqliteStore({ path });
  storeInput(brief, 'card-1', 'canary', 60_000);
  storeInput(brief, 'card-2', 'canary', 1);
  brief.close(); // As a hook: too brief for a sweep.
  const store = openFile(context, path) as CrossProcessStore;
  assert.equal(await readInput(store, 'card-2'), undefined);
  await readCards(store);
  const values = (await store.shared.read('question-input/', 10)).map(({ state }) => state as { value: unknown });
  assert.deepEqual(
    values.map(({ value }) => typeof value),
    ['string', 'object'],
  );
});

testWithRedis('attack 08: Redis has no input after the timeout', async (context) => {
  const redis = await startRedis();
  context.after(() => redis.stop());
  const store = await redisStore({ url: redis.url });
  const other = await redisStore({ url: redis.url });
  context.after(() => {
    store.close();
    other.close();
  });
  storeInput(store, 'card-1', 'canary', 60_000);
  storeInput(store, 'card-2', 'canary', 3_000);
  await store.shared.settled();
  assert.equal(await readInput(other, 'card-2'), 'canary');
  await until(async () => (await other.shared.read(inputKey('card-2'), 1)).length === 0);
  for (const each of [store, other]) {
    assert.equal(await readInput(each, 'card-1'), 'canary');
    assert.equal(await readInput(each, 'card-2'), undefined);
  }
  removeInput(other, 'card-1'); // Another process than the one that stored it.
  await other.shared.settled();
  assert.equal(await readInput(store, 'card-1'), undefined);
});
