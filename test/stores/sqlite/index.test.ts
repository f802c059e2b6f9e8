import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { SwitchgearError } from '../../../src/core/error.ts';
import { createMachineTime } from '../../../src/platform/machine-clock.ts';
import type { Change, StoreHint } from '../../../src/ports/store.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { migrate, migrations, versionOf } from '../../../src/stores/sqlite/schema.ts';
import { simulatedClock, storeSuite } from '../../../src/testing/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-sqlite-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newPath = () => join(folder, `file-${++files}`, 'store.db');

storeSuite('in a file', (clock, place) => sqliteStore({ path: join(folder, `${place}.db`), clock }), 'shared');

/** The code and message of what opening throws. */
function refusal(path: string): { readonly code: string; readonly message: string } {
  try {
    sqliteStore({ path }).close();
  } catch (error) {
    assert.ok(error instanceof SwitchgearError, String(error));
    return { code: error.code, message: error.message };
  }
  return { code: 'opened', message: '' };
}

test('only this user can read the file and its folder', () => {
  const path = newPath();
  const store = sqliteStore({ path });
  store.append({ type: 'task-missing', name: 'x' }, {}, 0);
  const mode = (name: string) => (statSync(name).mode & 0o777).toString(8);
  assert.equal(mode(join(path, '..')), '700');
  assert.deepEqual([path, `${path}-wal`, `${path}-shm`].map(mode), ['600', '600', '600']);
  store.close();
  chmodSync(path, 0o644);
  sqliteStore({ path }).close();
  assert.equal(mode(path), '600');
});

test('values survive closing and opening the store', () => {
  const path = newPath();
  const first = sqliteStore({ path });
  const cell = first.cell('breaker/a', () => ({ phase: 'closed' }));
  first.shared.commitNow({
    changes: [{ cell, update: () => ({ state: { phase: 'open' } }) }],
    adds: [{ key: 's', amount: 3 }],
  });
  const { secret } = first.shared;
  first.append({ type: 'user-observed' }, {}, 1);
  first.close();
  const second = sqliteStore({ path });
  assert.deepEqual(second.cell('breaker/a', () => ({ phase: 'closed' })).state, { phase: 'open' });
  assert.equal(second.shared.counter('s'), 3);
  assert.equal(second.shared.secret, secret);
  assert.equal(second.tail(0).length, 1);
  second.close();
});

test('a file of a newer version is refused with one sentence and not changed', () => {
  const path = newPath();
  sqliteStore({ path }).close();
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA user_version = 99; UPDATE meta SET value = '99' WHERE key = 'format'`);
  db.close();
  const { code, message } = refusal(path);
  assert.equal(code, 'store_newer');
  assert.match(message, /has version 99, and this Switchgear knows versions up to \d+: install/);
  assert.ok(existsSync(path));
  assert.deepEqual(
    readdirSync(join(path, '..')).filter((name) => name.includes('damaged')),
    [],
  );
});

test('a file that a newer version migrates is no longer written, and decisions continue', () => {
  const path = newPath();
  const store = sqliteStore({ path });
  const cell = store.cell('breaker/a', () => ({ failures: 0 }));
  const db = new DatabaseSync(path);
  db.exec(`BEGIN; PRAGMA user_version = 99; UPDATE meta SET value = '99' WHERE key = 'format'; COMMIT`);
  const update = ({ failures }: { readonly failures: number }) => ({ state: { failures: failures + 1 } });
  const change = { cell, update } as unknown as Change;
  assert.equal(store.shared.commitNow({ changes: [change] }).status, 'unavailable');
  assert.equal(store.shared.commitNow({ changes: [change], queueIfUnavailable: true }).status, 'queued');
  assert.deepEqual(cell.state, { failures: 1 });
  assert.equal(store.shared.health.state, 'degraded');
  assert.match(store.shared.health.reason, /it has version 99, and this Switchgear knows versions up to \d+: install/);
  store.close();
  assert.deepEqual(db.prepare('SELECT (SELECT count(*) FROM cells) + (SELECT count(*) FROM journal) AS n').get()?.n, 0);
  db.close();
});

test('a store in memory works and leaves no file', (context) => {
  const cwd = process.cwd();
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  process.chdir(empty);
  context.after(() => process.chdir(cwd));
  const store = sqliteStore({ path: ':memory:' });
  const cell = store.cell('breaker/a', () => ({ failures: 0 }));
  store.shared.commitNow({ changes: [{ cell, update: () => ({ state: { failures: 1 } }) }] });
  assert.deepEqual(cell.state, { failures: 1 });
  assert.deepEqual(readdirSync(empty), []);
  store.close();
  assert.deepEqual(readdirSync(empty), []);
});

test('a foreign database, a folder and an empty path are each refused with one sentence', () => {
  const path = newPath();
  mkdirSync(join(path, '..'));
  const db = new DatabaseSync(path);
  db.exec('CREATE TABLE theirs (a)');
  db.close();
  assert.match(refusal(path).message, /is a database of another program: use another file for the store$/);
  assert.match(refusal(folder).message, /cannot be opened: it is a folder$/);
  if (platform() === 'linux') assert.match(refusal('/proc/nope/x.db').message, /its folder cannot be made$/);
  assert.match(refusal('').message, /^path must name a file, got ""$/);
  writeFileSync(join(folder, 'plain'), 'x');
  assert.equal(refusal(join(folder, 'plain', 'store.db')).code, 'store_unreachable');
});

test('a file that is not a database is moved aside, never deleted, and reported', async () => {
  const path = newPath();
  mkdirSync(join(path, '..'));
  writeFileSync(path, 'these bytes are nobody’s database '.repeat(200));
  const store = sqliteStore({ path });
  const hints: StoreHint[] = [];
  store.shared.watch((hint) => hints.push(hint));
  const [aside] = readdirSync(join(path, '..')).filter((name) => name.includes('.damaged-'));
  assert.ok(aside);
  assert.ok(statSync(join(path, '..', aside)).size > 1000);
  assert.equal(store.shared.health.state, 'degraded');
  assert.match(
    store.shared.health.reason,
    /the file was damaged and was moved to ".*\.damaged-.*"; the store starts empty/,
  );
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(
    hints.map(({ type }) => type),
    ['recovered'],
  );
  store.close();
});

test('a deleted file is created again with the cached values of this process', async () => {
  const path = newPath();
  const store = sqliteStore({ path });
  const cell = store.cell('breaker/a', () => ({ open: false }));
  store.shared.commitNow({
    changes: [{ cell, update: () => ({ state: { open: true } }) }],
    adds: [{ key: 's', amount: 7 }],
  });
  const ends = store.cell('worker/a', () => ({ failures: 0 }), { keepMs: 60_000 });
  store.shared.commitNow({ changes: [{ cell: ends, update: () => ({ state: { failures: 1 } }) }] });
  const window = { key: 'm', keepMs: 60_000, cap: 10 };
  const atMs = store.clock.nowMs();
  for (const id of ['first', 'second']) store.shared.commitNow({ marks: [{ ...window, id, atMs }] });
  for (const part of ['', '-wal', '-shm']) rmSync(path + part);
  for (let look = 0; look < 300 && !existsSync(path); look++) await new Promise((resolve) => setTimeout(resolve, 10));
  const other = sqliteStore({ path });
  assert.deepEqual(other.cell('breaker/a', () => ({ open: false })).state, { open: true });
  assert.equal(other.shared.counter('s'), 7);
  assert.equal(other.shared.secret, store.shared.secret);
  const third = { ...window, id: 'third', atMs: atMs + 1, most: 2 };
  assert.deepEqual(other.shared.commitNow({ marks: [third] }), { status: 'rejected', by: 'mark', key: 'm' });
  const db = new DatabaseSync(path);
  const ending = db.prepare('SELECT key FROM cells WHERE untilMs IS NOT NULL').all();
  assert.deepEqual(
    ending.map(({ key }) => key),
    ['worker/a'],
  ); // What had an end has one again.
  db.close();
  other.close();
  store.close();
});

test('a foreign lock delays a caller by milliseconds only, and the write arrives later', async () => {
  const path = newPath();
  const store = sqliteStore({ path });
  const cell = store.cell('c', () => ({ n: 0 }));
  const update = ({ n }: { n: number }) => ({ state: { n: n + 1 } });
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  assert.equal(store.shared.commitNow({ changes: [{ cell, update }] }).status, 'unavailable');
  assert.equal(store.shared.commitNow({ changes: [{ cell, update }], queueIfUnavailable: true }).status, 'queued');
  assert.deepEqual(cell.state, { n: 1 }); // Counted here meanwhile.
  const pending = store.shared.commit({ changes: [{ cell, update }] });
  other.exec('COMMIT');
  other.close();
  assert.equal((await pending).status, 'committed');
  assert.deepEqual(cell.state, { n: 2 });
  store.close();
});

test('the journal is bounded, and its numbers continue', async () => {
  const path = newPath();
  const store = sqliteStore({ path, retain: { megabytes: 0.25 } });
  const note = { body: { type: 'task-missing', name: 'x'.repeat(200) } as const, place: {}, atMs: 0 };
  store.shared.commitNow({ entries: Array.from({ length: 3_000 }, () => note) });
  for (let look = 0; look < 300; look++) {
    const [first] = await store.shared.entries(0, 1);
    if (first!.seq > 1) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const kept = await store.shared.entries(0, 10_000);
  assert.ok(kept.length < 3_000);
  assert.equal(kept.at(-1)?.seq, 3_000);
  assert.equal(store.append({ type: 'task-missing', name: 'next' }, {}, 1).seq, 3_001);
  store.close();
});

test('an oversized journal loses exactly the excess, with any number of entries per row', async () => {
  const path = newPath();
  const store = sqliteStore({ path, retain: { megabytes: 1 } });
  const long = (call: number) => ({ type: 'result-observed', name: 'x'.repeat(2_000), call }) as never;
  for (let n = 0; n < 1_000; n++) store.append(long(n), {}, n);
  for (let look = 0; look < 300; look++) {
    const [first] = await store.shared.entries(0, 1);
    if (first!.seq > 1) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const kept = await store.shared.entries(0, 10_000);
  assert.ok(kept.length > 300 && kept.length < 600, `${kept.length} of 1000 entries of 2 kB were kept in 1 MB`);
  store.close();
});

test('the traces before a record have lower numbers than the record', () => {
  const store = sqliteStore({ path: newPath() });
  const trace = (model: string) =>
    ({ type: 'usage-observed', model, cost: { micros: 1, tokens: 1 }, basis: '' }) as const;
  store.append(trace('one'), {}, 1);
  store.append({ type: 'task-missing', name: 'two' }, {}, 2);
  store.append(trace('three'), {}, 3);
  assert.deepEqual(
    store.tail(0).map(({ seq, atMs }) => [seq, atMs]),
    [
      [1, 1],
      [2, 2],
      [3, 3],
    ],
  );
  store.close();
});

test('traces share rows, and can be read one by one from any number', async () => {
  const path = newPath();
  const store = sqliteStore({ path });
  const place = (n: number) => (n % 3 === 0 ? {} : { task: `t${n % 3}`, session: 's', agent: 'a' });
  const mark = { ok: true, exact: 7, loose: 7, length: 1 };
  for (let n = 1; n <= 100; n++) {
    store.append({ type: 'result-observed', name: `"exact":${n}`, call: n, result: mark }, place(n), n / 8);
  }
  await store.shared.settled();
  store.append({ type: 'task-missing', name: 'x' }, {}, 20);
  const told = (entries: readonly { readonly seq: number; readonly atMs: number; readonly task?: string }[]) =>
    entries.map(({ seq, atMs, task }) => [seq, atMs, task]);
  const whole = Array.from({ length: 100 }, (_, at) => [at + 1, (at + 1) / 8, place(at + 1).task]);
  assert.deepEqual(told(store.tail(1)), [...whole, [101, 20, undefined]]);
  assert.deepEqual(told(await store.shared.entries(50, 20)), whole.slice(49, 69));
  assert.deepEqual(told(store.tail(99)), [...whole.slice(98), [101, 20, undefined]]);
  const [entry] = store.tail(100);
  assert.ok(entry?.type === 'result-observed' && entry.name === '"exact":100' && entry.call === 100);
  assert.notEqual(entry.result.exact, 7, 'a fingerprint leaves the process keyed');
  assert.equal(entry.result.exact, entry.result.loose);
  store.close();
  const db = new DatabaseSync(path);
  assert.ok(Number(db.prepare('SELECT count(*) AS n FROM journal').get()?.n) < 10);
  db.close();
});

test('a file of an earlier version is migrated, and a failed migration leaves it unchanged', () => {
  const db = new DatabaseSync(':memory:');
  const signed: number[] = [];
  const sign = () => void signed.push(versionOf(db));
  migrate(db, sign, ['CREATE TABLE one (a)']);
  assert.equal(versionOf(db), 1);
  assert.throws(() => migrate(db, sign, ['CREATE TABLE one (a)', 'CREATE TABLE two (a)', 'nonsense']));
  assert.equal(versionOf(db), 1);
  assert.equal(db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'two'").get()?.n, 0);
  migrate(db, sign, ['CREATE TABLE one (a)', 'CREATE TABLE two (a)']);
  assert.equal(versionOf(db), 2);
  migrate(db, sign, ['CREATE TABLE one (a)', 'CREATE TABLE two (a)']);
  assert.deepEqual(signed, [1, 2]);
  assert.ok(migrations.length >= 1);
  db.close();
});

test('a reader during a migration sees the file either before or completely after it', () => {
  const path = newPath();
  sqliteStore({ path }).close();
  const [db, other] = [new DatabaseSync(path), new DatabaseSync(path)];
  const next = migrations.length + 1;
  const seen: unknown[] = [];
  const look = () => seen.push([versionOf(other), other.prepare("SELECT value FROM meta WHERE key = 'format'").get()]);
  migrate(db, () => {
    look();
    db.exec(`UPDATE meta SET value = '${next}' WHERE key = 'format'`);
    look();
  }, [...migrations, 'CREATE TABLE later (a)']);
  look();
  const [before, during, after] = seen;
  assert.deepEqual(before, during);
  assert.deepEqual(after, [next, { __proto__: null, value: `${next}` }]);
  migrate(db, () => assert.fail('nobody signs an older version'));
  assert.equal(versionOf(db), next);
  for (const each of [db, other]) each.close();
  assert.equal(refusal(path).code, 'store_newer');
});

test('the clock of a file continues after a reboot by wall time, and never goes back', () => {
  const clock = simulatedClock();
  clock.advance(10_000);
  const before = createMachineTime(undefined, 'boot-1', clock);
  const saved = before.save();
  clock.advance(500);
  const sibling = createMachineTime(saved, 'boot-1', clock);
  assert.equal(sibling.clock.nowMs(), before.clock.nowMs());
  const after = simulatedClock(); // The machine's own time begins anew.
  after.wallJump(saved.seenWallMs - after.wallMs() + 60_000);
  assert.equal(createMachineTime(saved, 'boot-2', after).clock.nowMs(), saved.seenMs + 60_000);
  after.wallJump(-3_600_000);
  assert.equal(createMachineTime(saved, 'boot-2', after).clock.nowMs(), saved.seenMs);
});
