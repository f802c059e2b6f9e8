/** A file and a Redis, to run the same stories on; both are gone when the tests of a file are over. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { redisStore } from '../../src/stores/redis/index.ts';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { type RedisServer, startRedisOfFile, testWithRedis } from '../redis-server.ts';

export interface BothStores {
  /** How a store is opened at a place; two at the same place share what is there. */
  readonly kinds: Readonly<Record<'in a file' | 'in Redis', (place: string) => Promise<SqliteStore>>>;
  /** A place where nothing is yet. */
  newPlace(): string;
}

/** `test` for tests on one kind of store: those in Redis are skipped where there is none. */
export function testOn(kind: string): typeof test {
  return kind === 'in Redis' ? testWithRedis : test;
}

/** Where the stores of a file of tests lie: a folder, and a Redis that is there from the first test to the last. */
export function storePlace(): { readonly folder: string; readonly server: () => RedisServer } {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-stores-'));
  let server: RedisServer | undefined;
  before(async () => {
    server = await startRedisOfFile();
  });
  after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, server: () => server! };
}

/** Waits for what other processes, and the network, take their time for. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let look = 0; look < 1_000; look++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.fail('it did not happen');
}

export function bothStores(): BothStores {
  const { folder, server } = storePlace();
  let places = 0;
  return {
    kinds: {
      'in a file': async (place) => sqliteStore({ path: join(folder, `${place}.db`) }),
      'in Redis': async (prefix) => redisStore({ url: server().url, prefix, graceMs: 0, deadlineMs: 1_000 }),
    },
    newPlace: () => `place${++places}`,
  };
}
