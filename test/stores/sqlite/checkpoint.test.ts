import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';

function fileFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-log-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'state.db');
}

/** Writes some entries, as a process that is about to end does: too few for a thread that copies the log. */
function writeAndLeave(path: string, entries: number): void {
  const store = sqliteStore({ path, skipCheckpoint: true });
  for (let number = 0; number < entries; number++) {
    store.append({ type: 'notice', message: 'x'.repeat(2_000) } as never, {}, number);
  }
  store.close();
}

test('a process that exits at once leaves a short log, which the next process reads', async (context) => {
  const path = fileFor(context);
  writeAndLeave(path, 3);
  assert.ok(existsSync(`${path}-wal`));
  const store = sqliteStore({ path });
  assert.equal((await store.shared.entries(0, 10)).length, 3);
  store.close();
});

test('a process that exits at once checkpoints a long log', (context) => {
  const path = fileFor(context);
  writeAndLeave(path, 100);
  assert.ok(!existsSync(`${path}-wal`));
});

test('a long log is checkpointed while other processes have the file open', (context) => {
  const path = fileFor(context);
  writeAndLeave(path, 1);
  const other = new DatabaseSync(path);
  other.prepare('SELECT count(*) FROM journal').get();
  for (let process = 0; process < 3; process++) writeAndLeave(path, 100);
  assert.ok(statSync(`${path}-wal`).size < 1_048_576);
  assert.equal(other.prepare('SELECT max(seq) AS seq FROM journal').get()?.seq, 301);
  other.close();
});
