/** A gateway on a store with one key. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { addKey, type KeyLimits, openKeyBook } from '../../../src/gateway/keys/key-records.ts';
import { type SqliteStore, sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { messageOf, openGateway, type Setup, sendJson } from '../harness.ts';

/** Opens it on a store in a file of its own, or on the stores that `openStore` opens at one place. */
export async function openKeyed(
  context: TestContext,
  limits: KeyLimits = {},
  setup: Setup = {},
  openStore: () => Promise<SqliteStore> = inFile(),
) {
  const store = await openStore();
  const key = await addKey(store, 'ann', limits, 'tester');
  const open = async () => {
    const own = await openStore();
    context.after(() => own.close());
    return openGateway(context, {
      answer: (_, response) => sendJson(response, messageOf('hi', 1_000, 100)),
      keys: await openKeyBook(own),
      env: { PROVIDER_KEY: 'sk-provider' },
      listed: (mock) => [{ name: 'own', url: mock, key_env: 'PROVIDER_KEY' }],
      gear: { store: own },
      ...setup,
    });
  };
  const gateway = await open();
  context.after(() => store.close());
  return { ...gateway, store, key, open, addKey: (name: string) => addKey(store, name, {}, 'tester') };
}

function inFile(): () => Promise<SqliteStore> {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-keys-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return async () => sqliteStore({ path: join(folder, 'gear.db') });
}
