/** A file that takes the place of another one, forgets changes, or is shared by halves: it grants no money at first. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cell, Transaction } from '../../../src/ports/store.ts';
import { type SqliteStore, sqliteStore } from '../../../src/stores/sqlite/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-generation-'));
const opened: SqliteStore[] = [];
after(() => {
  for (const store of opened) store.close();
  rmSync(folder, { recursive: true, force: true });
});

let places = 0;
function newPath(): string {
  const place = join(folder, `${++places}`);
  mkdirSync(place);
  return join(place, 'state.db');
}

function open(path: string): { readonly store: SqliteStore; readonly cell: Cell<{ used: number }> } {
  const store = sqliteStore({ path });
  opened.push(store);
  const join = (left: { used: number }, right: { used: number }) => ({ used: Math.max(left.used, right.used) });
  return { store, cell: store.cell('budget', () => ({ used: 0 }), { join }) };
}

/** Takes from the budget as a guarded call does, with a counter that marks it as money. */
function take({ store, cell }: ReturnType<typeof open>, amount: number, limit = 100): string {
  store.shared.refresh();
  const update = ({ used }: { used: number }) =>
    used + amount > limit ? ('refuse' as const) : { state: { used: used + amount } };
  const adds = [{ key: 'budget/grants', amount: 1, ceiling: Number.MAX_SAFE_INTEGER }];
  return store.shared.commitNow({ changes: [{ cell, update } as never], adds } satisfies Transaction).status;
}

/** Adds usage beyond what was reserved, which is written at any time. */
function add({ store, cell }: ReturnType<typeof open>, amount: number): void {
  const update = ({ used }: { used: number }) => ({ state: { used: used + amount } });
  store.shared.commitNow({ changes: [{ cell, update } as never] });
}

function deleteFiles(path: string, ends: readonly string[] = ['', '-wal', '-shm']): void {
  for (const end of ends) rmSync(path + end, { force: true });
}

const poll = () => sleep(1_300);
const grace = () => sleep(2_300);

test('attack 14: a process that finds more in the new file than it knows goes on from there', async () => {
  const path = newPath();
  const [first, second] = [open(path), open(path)];
  assert.equal(take(first, 60), 'committed');
  assert.equal(second.store.shared.health.state, 'shared');
  second.store.shared.refresh();
  deleteFiles(path);
  // The first one reopens the file and spends what was not reserved, before the second one looks.
  assert.equal(take(first, 1), 'unavailable');
  add(first, 39);
  await poll();
  await grace();
  assert.equal(second.cell.state.used, 99);
  assert.equal(take(second, 10), 'rejected');
  assert.deepEqual([first.cell.state.used, second.cell.state.used], [99, 99]);
});

test('attack 14: a deleted file grants nothing more, even before anybody looks for it', async () => {
  const path = newPath();
  const first = open(path);
  assert.equal(take(first, 60), 'committed');
  deleteFiles(path);
  const second = open(path);
  assert.deepEqual([take(first, 1), take(second, 1)], ['unavailable', 'unavailable']);
  await grace();
  assert.deepEqual([take(second, 30), take(second, 30)], ['committed', 'rejected']);
  assert.equal(take(first, 30), 'rejected');
});

test('attack 14: processes whose file has lost its log do not grant beside others', async () => {
  const path = newPath();
  const first = open(path);
  assert.equal(take(first, 60), 'committed');
  deleteFiles(path, ['-wal', '-shm']);
  const second = open(path);
  assert.equal(take(first, 30), 'unavailable');
  assert.notEqual(take(second, 30), 'committed');
  await poll();
  await grace();
  assert.deepEqual([take(first, 30), take(second, 30)], ['committed', 'rejected']);
  assert.ok(readdirSync(join(path, '..')).some((name) => name.startsWith('state.db.damaged-')));
  const card = first.store.cards().find(({ id }) => id.startsWith('card-store-'));
  assert.match(card?.evidence[0] ?? '', /the store lost data: the file was damaged and was moved to/);
});

test('attack 14: an old copy that is written over the open file starts a grace period, with a card', async () => {
  const path = newPath();
  const first = open(path);
  assert.equal(take(first, 10), 'committed');
  first.store.close();
  copyFileSync(path, `${path}.copy`);
  const second = open(path);
  assert.equal(take(second, 70), 'committed');
  second.store.close();
  const third = open(path);
  third.store.shared.refresh();
  assert.equal(third.cell.state.used, 80);
  // The log is empty now, so the copy is what SQLite reads.
  copyFileSync(`${path}.copy`, path);
  assert.equal(take(third, 15), 'unavailable');
  const fourth = open(path);
  assert.equal(take(fourth, 30), 'unavailable');
  await poll();
  await grace();
  assert.deepEqual([take(fourth, 30), take(third, 30)], ['rejected', 'rejected']);
  assert.match(
    fourth.store
      .cards()
      .flatMap(({ evidence }) => evidence)
      .join(),
    /the store lost data/,
  );
});

test('attack 14: one file by two paths has one marker', () => {
  const path = newPath();
  const link = join(folder, `link-${places}.db`);
  open(path).store.close();
  symlinkSync(path, link);
  open(link).store.close();
  deleteFiles(path);
  const replaced = open(link);
  assert.equal(take(replaced, 1), 'unavailable');
  replaced.store.close();
  const markers = [folder, join(path, '..')]
    .flatMap((each) => readdirSync(each))
    .filter((name) => /^\.switch/.test(name));
  assert.equal(markers.length, 1);
});

test('opening a file twice in one process keeps its locks: another process that ends does not delete its log', () => {
  const path = newPath();
  const first = open(path);
  assert.equal(take(first, 10), 'committed');
  open(path);
  const log = statSync(`${path}-wal`).ino;
  const script = `
    import { DatabaseSync } from 'node:sqlite';
    const db = new DatabaseSync(process.argv[1]);
    db.prepare('SELECT count(*) FROM cells').get();
    db.close();`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script, path], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  assert.ok(existsSync(`${path}-wal`) && statSync(`${path}-wal`).ino === log);
  assert.equal(take(first, 10), 'committed');
});
