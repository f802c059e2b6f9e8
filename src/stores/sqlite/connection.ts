/** Holds the open file of a store, and reopens it after it was damaged or replaced. */

import type { DatabaseSync } from 'node:sqlite';
import type { Entry } from '../../core/event.ts';
import { createMachineTime, machineClock, type SavedTime } from '../../platform/machine-clock.ts';
import type { Clock } from '../../ports/clock.ts';
import type { StoredCell } from '../../ports/store.ts';
import { parseCellText, type Views } from '../cells/cell-views.ts';
import type { HealthMonitor } from '../cells/store-health.ts';
import { classifySqliteError, describeError } from './errors.ts';
import {
  checksumOf,
  inodeOf,
  isSplit,
  type OpenFile,
  openFile,
  readVersionAnew,
  readWriteTime,
  setAside,
} from './file.ts';
import { isOtherGeneration, renewGeneration } from './generation.ts';
import { parseJournalRow } from './journal-rows.ts';
import { createTransactionRunner, secretKey, type TransactionRunner } from './transactions.ts';

/** The open file of a store. */
export interface SqliteConnection {
  readonly clock: Clock;
  readonly db: DatabaseSync;
  readonly runner: TransactionRunner;
  /** Runs a read; returns undefined and degrades the store's health if the file fails. */
  attempt<T>(ask: (runner: TransactionRunner) => T): T | undefined;
  /** Handles an error of the file; returns true if the file was replaced by a new one. */
  handleError(error: unknown): boolean;
  /** How long the file grants no money yet, because it took the place of another one. */
  graceMs(): number;
  /** Returns a loss of data that is not reported yet, once. */
  takeLoss(): StoreLoss | undefined;
  /** Reopens the path if it names another file, or one that forgot changes; returns whether to restore state. */
  reopenIfReplaced(): boolean;
  /** Returns a value that is created once per file; a replacement file gets the same value. */
  once(key: string, make: () => string): string;
  readonly onceValues: ReadonlyMap<string, string>;
  saveTime(): void;
  read(prefix: string, most: number): readonly StoredCell[];
  /** Returns entries from a sequence number on: the newest or first `most`; undefined if the read failed. */
  entries(fromSeq: number, most: number, newest: boolean): readonly Entry[] | undefined;
  close(): void;
}

/** A loss of data: the id of the file that started without it, and a sentence for people. */
export interface StoreLoss {
  readonly id: string;
  readonly reason: string;
}

/** The options of `createSqliteConnection`. */
export interface SqliteConnectionOptions {
  readonly path: string;
  readonly verify: boolean;
  readonly views: Views;
  readonly monitor: HealthMonitor;
  readonly clock: Clock | undefined;
}

/** Opens the file of a store. */
export function createSqliteConnection({
  path,
  verify,
  views,
  monitor,
  clock: customClock,
}: SqliteConnectionOptions): SqliteConnection {
  let file: OpenFile = openFile(path, verify);
  const onceValues = new Map<string, string>();
  const saved = readTime();
  const time = createMachineTime(saved);
  const clock = customClock ?? time.clock;
  let runner = createRunner();
  let closed = false;
  let writtenMs = readWriteTime(path);
  let loss: StoreLoss | undefined;
  reportLoss(file.aside);

  function createRunner(): TransactionRunner {
    return createTransactionRunner(file.db, views, clock, () => onceValues.get(secretKey) ?? '');
  }

  function readTime(): SavedTime | undefined {
    const row = file.db.prepare("SELECT value FROM meta WHERE key = 'time'").get();
    return row === undefined ? undefined : (JSON.parse(String(row.value)) as SavedTime);
  }

  function reportLoss(aside: string | undefined): void {
    if (aside === undefined && !file.generation.isReplaced) return;
    const reason =
      aside === undefined
        ? `the file ${JSON.stringify(path)} was deleted or replaced; the store starts with what running processes know`
        : `the file was damaged and was moved to ${JSON.stringify(aside)}; the store starts empty`;
    loss = { id: file.generation.id, reason };
    monitor.degrade(reason);
    machineClock.after(0, () => monitor.recover(reason));
  }

  function reopen(): void {
    try {
      file.db.close();
    } catch {
      // Closing a damaged file may fail, too.
    }
    file = openFile(path, verify);
    writtenMs = readWriteTime(path);
    runner = createRunner();
    reportLoss(file.aside);
  }

  /** Whether an older state was written over the open file, which cached pages hide. */
  function isOverwritten(): boolean {
    const changedMs = readWriteTime(path);
    if (changedMs === writtenMs) return false;
    const { seenVersion } = runner;
    const isOlder = attempt(() => readVersionAnew(path) < seenVersion);
    if (isOlder !== undefined) writtenMs = changedMs;
    return isOlder === true;
  }

  /** Finds an old copy that was written over the open file, or another process that has found one. */
  function renewIfForgotten(): boolean {
    const { db, inode, generation } = file;
    const isForgotten = attempt(() => runner.hasForgotten || isOtherGeneration(db, generation));
    if (isForgotten !== true) return false;
    file = { ...file, generation: renewGeneration(db, path, inode, generation) };
    runner = createRunner();
    reportLoss(undefined);
    return true;
  }

  function handleError(error: unknown): boolean {
    if (closed) return false;
    if (classifySqliteError(error) !== 'damaged') {
      monitor.degrade(describeError(error, path));
      return false;
    }
    try {
      const aside = setAside(path, file.inode);
      reopen();
      if (aside !== undefined) reportLoss(aside);
      return true;
    } catch (reopenError) {
      monitor.degrade(describeError(reopenError, path));
      return false;
    }
  }

  function attempt<T>(ask: (runner: TransactionRunner) => T): T | undefined {
    try {
      return ask(runner);
    } catch (error) {
      if (classifySqliteError(error) !== 'busy') handleError(error);
      return undefined;
    }
  }

  return {
    clock,
    get db() {
      return file.db;
    },
    get runner() {
      return runner;
    },
    onceValues,
    attempt,
    handleError,
    graceMs: () => Math.max(0, file.generation.graceUntilMs - machineClock.nowMs()),
    takeLoss() {
      const found = loss;
      loss = undefined;
      return found;
    },
    reopenIfReplaced() {
      if (closed) return false;
      try {
        const isReplaced = inodeOf(path) !== file.inode;
        if (!isReplaced && !isSplit(path, file.sides) && !isOverwritten()) return renewIfForgotten();
        // The deleted file still has the last changes of processes that have ended.
        attempt(() => runner.refresh());
        const aside = isReplaced ? undefined : setAside(path, file.inode);
        reopen();
        if (aside !== undefined) reportLoss(aside);
        return true;
      } catch (error) {
        monitor.degrade(describeError(error, path));
        return false;
      }
    },
    once(key, make) {
      const { db } = file;
      const isNew = saved === undefined || saved.boot !== time.save().boot;
      let value = runner.readMeta(key);
      if (value !== undefined) onceValues.set(key, value);
      if (value !== undefined && !isNew) return value;
      db.exec('PRAGMA busy_timeout = 2000; BEGIN IMMEDIATE');
      try {
        value = runner.readMeta(key) ?? make();
        runner.setMeta(key, value);
        if (isNew) runner.setMeta('time', JSON.stringify(time.save()));
        db.exec('COMMIT');
        onceValues.set(key, value);
        return value;
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK');
        throw error;
      } finally {
        db.exec('PRAGMA busy_timeout = 0');
      }
    },
    saveTime() {
      runner.setMeta('time', JSON.stringify(time.save()));
    },
    read(prefix, most) {
      const rows = attempt((current) => current.readCells(prefix, most));
      const read = (rows ?? []).map(({ key, version, state }) => ({
        key: String(key),
        version: Number(version),
        state: parseCellText(String(state)),
      }));
      return read.filter(({ state }) => state !== undefined); // An unreadable cell is reported when it is opened.
    },
    entries(fromSeq, most, newest) {
      const order = newest ? 'DESC' : 'ASC';
      const found: Entry[] = [];
      const isRead = attempt(() => {
        const rows = file.db
          .prepare(`SELECT seq, atMs, wallMs, entry, crc FROM journal WHERE seq >= ? ORDER BY seq ${order} LIMIT ?`)
          .iterate(fromSeq, most);
        for (const row of rows) {
          // A row with a wrong checksum is left out.
          if (checksumOf(row.seq, row.entry) !== row.crc) continue;
          const rowEntries = parseJournalRow(row).filter(({ seq }) => seq >= fromSeq);
          found.push(...(newest ? rowEntries.toReversed() : rowEntries));
          if (found.length >= most) break;
        }
        return true;
      });
      if (isRead === undefined) return undefined;
      found.length = Math.min(found.length, most);
      return newest ? found.reverse() : found;
    },
    close() {
      if (closed) return;
      closed = true;
      file.db.close();
    },
  };
}
