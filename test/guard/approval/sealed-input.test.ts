import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { inputKey, readInput, removeInput, storeInput } from '../../../src/guard/approval/sealed-input.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';

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
