/** Opens a store's file with private access, checks its version and rows, and sets a damaged file aside. */

import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SwitchgearError } from '../../core/error.ts';
import { machineClock, sleepSync } from '../../platform/machine-clock.ts';
import { crc32 } from '../cells/checksums.ts';
import { classifySqliteError, createOpenError, DamagedRow, isMoved, sqliteCodeOf } from './errors.ts';
import { type FileGeneration, readGeneration } from './generation.ts';
import { applicationId, blockOf, migrate, migrations, newerThan, versionOf } from './schema.ts';

/** The name that SQLite takes for a database in memory: there is no file. */
const inMemory = ':memory:';
/** The generation of a database in memory, which no other process can replace. */
const unnamedGeneration: FileGeneration = { id: '', isReplaced: false, graceUntilMs: 0 };

/** A file that was opened and checked. */
export interface OpenFile {
  readonly db: DatabaseSync;
  /** The inode of the file; another inode under the same path is another file. */
  readonly inode: number;
  /** The inodes of its log and shared memory; processes that use other ones do not see each other. */
  readonly sides: readonly number[];
  readonly generation: FileGeneration;
  /** The path of the damaged file that was set aside, if any. */
  readonly aside: string | undefined;
}

const patienceMs = 250;
const openPatienceMs = 10_000;
/** A rename lock of this age belongs to a process that has died. */
const staleMs = 2_000;
const readOnlyCode = 8;
/** The key of the version with a checksum, so that a flipped bit in the header does not look like a newer version. */
const formatKey = 'format';

/** Returns the checksum of the columns of a row. */
export function checksumOf(...parts: readonly unknown[]): number {
  return crc32(parts.join('\n'));
}

/**
 * Opens a file; sets a damaged file aside and creates a new one.
 *
 * @param verify Whether every row that decisions use is checked.
 */
export function openFile(path: string, verify: boolean): OpenFile {
  let aside: string | undefined;
  const untilMs = machineClock.nowMs() + openPatienceMs;
  for (let damaged = 0; ; ) {
    try {
      const opened = tryOpen(path, verify);
      if (inodeOf(path) === opened.inode) return { ...opened, aside };
      opened.db.close(); // The file was deleted or replaced meanwhile.
      if (machineClock.nowMs() >= untilMs)
        throw new SwitchgearError('store_busy', `the store ${JSON.stringify(path)} is replaced all the time`);
    } catch (error) {
      // SQLite's own timeout is too short among many writers, and after a kill -9 one process has to recover the log.
      if ((classifySqliteError(error) === 'busy' || isMoved(error)) && machineClock.nowMs() < untilMs) {
        sleepSync(1 + Math.random() * 20);
        continue;
      }
      if (!isDamage(error, path) || ++damaged > 2) throw createOpenError(error, path);
      aside = setAside(path, inodeOf(path)) ?? aside;
    }
  }
}

function tryOpen(path: string, verify: boolean): Omit<OpenFile, 'aside'> {
  if (path !== inMemory) createPrivateFile(path);
  const inode = inodeOf(path);
  const db = new DatabaseSync(path);
  try {
    db.exec(`PRAGMA busy_timeout = ${patienceMs}`);
    checkVersion(db, path);
    if (versionOf(db) === 0) db.exec('PRAGMA auto_vacuum = INCREMENTAL');
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0');
    db.exec('PRAGMA journal_size_limit = 1048576; PRAGMA foreign_keys = OFF; PRAGMA trusted_schema = OFF');
    migrate(db, () => writeSignature(db));
    writeSignature(db);
    if (verify) verifyRows(db);
    const generation = path === inMemory ? unnamedGeneration : readGeneration(db, path, inode);
    db.exec('PRAGMA busy_timeout = 0');
    return { db, inode, sides: readSides(path), generation };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Writes the application id and version unless they are there: opening must not wait for writers. */
function writeSignature(db: DatabaseSync): void {
  if (Number(db.prepare('PRAGMA application_id').get()?.application_id) !== applicationId) {
    db.exec(`PRAGMA application_id = ${applicationId}`);
  }
  if (db.prepare('SELECT 1 FROM meta WHERE key = ? AND value = ?').get(formatKey, String(migrations.length))) return;
  const write = db.prepare('INSERT OR REPLACE INTO meta (key, value, crc) VALUES (?, ?, ?)');
  write.run(formatKey, String(migrations.length), checksumOf(formatKey, migrations.length));
}

/** Creates folders one by one, because a recursive `mkdir` never returns on file systems that cannot create any. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // Another process created it first.
  }
}

function createPrivateFile(path: string): void {
  try {
    makeFolder(dirname(path));
    // Closing a descriptor of an existing file would release the locks of all its stores in this process.
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
    else closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600));
    const stats = statSync(path);
    if (stats.isDirectory()) throw Object.assign(new Error('it is a folder'), { code: 'EISDIR' });
    if (!stats.isFile()) throw new Error('it is no regular file'); // Opening a pipe could block for ever.
    if ((stats.mode & 0o077) !== 0) chmodSync(path, 0o600);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const why =
      code === 'EACCES' || code === 'EPERM'
        ? 'this user may not write there'
        : code === 'EROFS'
          ? 'the disk is read-only'
          : code === 'ENOSPC'
            ? 'the disk is full'
            : code === 'EISDIR'
              ? 'it is a folder'
              : code === 'ENOENT'
                ? 'its folder cannot be made'
                : message;
    const kind =
      code === 'EROFS' || code === 'EACCES' ? 'store_readonly' : code === 'ENOSPC' ? 'store_full' : undefined;
    throw new SwitchgearError(
      kind ?? 'store_unreachable',
      `the store ${JSON.stringify(path)} cannot be opened: ${why}`,
      { cause: error },
    );
  }
}

/** Rejects files of newer versions and files of other programs. */
function checkVersion(db: DatabaseSync, path: string): void {
  const version = versionOf(db);
  const tables = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table'").get()?.n;
  if (tables === 0) return;
  const id = Number(db.prepare('PRAGMA application_id').get()?.application_id);
  const ours = db
    .prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name IN ('cells', 'journal', 'meta')")
    .get()?.n;
  if (id !== applicationId && ours !== 3) {
    throw new SwitchgearError(
      'store_foreign',
      `${JSON.stringify(path)} is a database of another program: use another file for the store`,
    );
  }
  if (version > migrations.length) {
    const format = db.prepare('SELECT value, crc FROM meta WHERE key = ?').get(formatKey);
    if (format?.value === String(migrations.length) && format.crc === checksumOf(formatKey, migrations.length)) {
      throw new DamagedRow('the header', `version ${version}`);
    }
    throw new SwitchgearError('store_newer', `the store ${JSON.stringify(path)} ${newerThan(version)}`);
  }
}

/** Reads every row that decisions use; throws at the first damaged one. */
function verifyRows(db: DatabaseSync): void {
  const problem = String(db.prepare('PRAGMA quick_check(1)').get()?.quick_check);
  if (problem !== 'ok') throw new DamagedRow('the file', problem);
  for (const { key, version, state, crc, block } of db.prepare('SELECT * FROM cells').iterate()) {
    const isSound = checksumOf(key, version, state ?? '') === crc && block === blockOf(Number(version));
    if (!isSound) throw new DamagedRow('cells', String(key));
  }
  for (const { key, total, crc } of db.prepare('SELECT key, total, crc FROM sums').iterate()) {
    if (checksumOf(key, total) !== crc) throw new DamagedRow('sums', String(key));
  }
  for (const { key, value, crc } of db.prepare('SELECT key, value, crc FROM meta').iterate()) {
    if (checksumOf(key, value) !== crc) throw new DamagedRow('meta', String(key));
  }
  for (const { seq, entry, crc } of db.prepare('SELECT seq, entry, crc FROM journal').iterate()) {
    if (checksumOf(seq, entry) !== crc) throw new DamagedRow('journal', String(seq));
  }
}

/** Whether an error while opening means that the file is damaged, not that its disk or its permissions are at fault. */
function isDamage(error: unknown, path: string): boolean {
  if (error instanceof SwitchgearError) return false;
  if (classifySqliteError(error) === 'damaged') return true;
  const primary = sqliteCodeOf(error) & 0xff;
  if (primary === readOnlyCode) return isWritable(path); // The header says read-only, the permissions do not.
  return primary === 1 || primary === 25 || error instanceof TypeError; // A missing table, an invalid value.
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function readSides(path: string): readonly number[] {
  return ['-wal', '-shm'].map((part) => inodeOf(path + part));
}

/** Whether the log or the shared memory of an open file was deleted: processes that open it now would not see it. */
export function isSplit(path: string, sides: readonly number[]): boolean {
  return readSides(path).some((inode, at) => sides[at] !== 0 && inode !== sides[at]);
}

/** When a file was written last; for a file with a log this is its last checkpoint, or a program other than SQLite. */
export function readWriteTime(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Reads the highest version of a file without the cached pages of an open connection. */
export function readVersionAnew(path: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    db.exec(`PRAGMA busy_timeout = ${patienceMs}`);
    return Number(db.prepare('SELECT max(version) AS version FROM cells').get()?.version ?? 0);
  } finally {
    db.close();
  }
}

export function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

/** Renames a damaged file and its log files; returns undefined if another process has already replaced the file. */
export function setAside(path: string, inode: number): string | undefined {
  const lock = `${path}.setting-aside`;
  const sinceMs = machineClock.nowMs();
  for (;;) {
    try {
      mkdirSync(lock, { mode: 0o700 });
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (machineClock.nowMs() - sinceMs > staleMs) rmdirSync(lock);
      sleepSync(5);
    }
  }
  try {
    if (inodeOf(path) !== inode) return undefined;
    const to = `${path}.damaged-${machineClock.wallMs()}-${process.pid}`;
    renameSync(path, to);
    for (const part of ['-wal', '-shm']) {
      if (inodeOf(path + part) !== 0) renameSync(path + part, to + part);
    }
    return to;
  } finally {
    rmdirSync(lock);
  }
}
