/** The door `switchgear/stores/sqlite`: state in one file that the processes of one machine share. */

import { createSharing } from '../../coordination/index.ts';
import type { Card } from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import { type Entry, type EntryBody, type EntryPlace, isTrace } from '../../core/event.ts';
import { journalEntriesMax, lockWaitMs, storedKeysMax, storePollMs } from '../../core/limits.ts';
import { startInterval } from '../../platform/machine-clock.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CellOptions, SharedStore, Store, Transaction, WindowCount } from '../../ports/store.ts';
import { createViews } from '../cells/cell-views.ts';
import { createHealthMonitor, reportUnreadableCell } from '../cells/store-health.ts';
import { cardPrefix, laterCard, putCardUpdate } from '../cells/transaction-plan.ts';
import { createCheckpoints } from './checkpoint.ts';
import { createSqliteConnection } from './connection.ts';
import { secretKey } from './transactions.ts';
import { createWriter } from './writer.ts';

export interface SqliteOptions {
  /** The file; it and its folder are made where they are missing, for this user alone. */
  readonly path: string;
  /** How long a synchronous caller waits for the lock: 5 ms, or more where no event loop has to go on. */
  readonly waitMs?: number;
  /** What the journal keeps: 30 days and 64 megabytes. */
  readonly retain?: { readonly days?: number; readonly megabytes?: number };
  /** Cells that the file may have; a new one beyond counts in its process alone. */
  readonly keysMax?: number;
  /** Whether the whole file is read once when it is opened. */
  readonly verify?: boolean;
  /** For a process that ends at once: a short log is not copied into the file, for which it would wait for the disk. */
  readonly isBrief?: boolean;
  /** For tests: the store's time. */
  readonly clock?: Clock;
}

export type SqliteStore = Store & { readonly shared: SharedStore };

export function sqliteStore(options: SqliteOptions): SqliteStore {
  checkOptions(options);
  const { path, waitMs = lockWaitMs, verify = true, isBrief = false } = options;
  const bytes = (options.retain?.megabytes ?? 64) * 1_048_576;
  const retain = { days: options.retain?.days ?? 30, bytes, cells: options.keysMax ?? storedKeysMax };
  const monitor = createHealthMonitor();
  const views = createViews((key, isKnown) => reportUnreadableCell(monitor, key, isKnown));
  const connection = createSqliteConnection({ path, verify, views, monitor, clock: options.clock });
  const checkpoints = createCheckpoints(path);
  const writer = createWriter({ connection, views, monitor, waitMs, copyLogIfLong: checkpoints.copyLogIfLong });
  const process = `p${uniqueId()}`;
  const secret = connection.once(secretKey, createSecret);
  let closed = false;
  const stopPoll = startInterval(storePollMs, poll);

  function poll(): void {
    if (connection.reopenIfReplaced()) writer.restore();
    writer.refresh();
    writer.sweep(retain);
    checkpoints.copyLogIfLong();
  }

  function open<S>(key: string, initial: () => S, cellOptions?: CellOptions<S>) {
    return views.open(key, initial, cellOptions, () => connection.attempt((runner) => runner.readCell(key))).cell;
  }

  function cardCell(id: string) {
    return open<Card | null>(cardPrefix + id, () => null, { join: laterCard });
  }

  function tail(fromSeq: number): readonly Entry[] {
    writer.flush();
    return connection.entries(fromSeq, journalEntriesMax, true);
  }

  const counter = (key: string) => connection.attempt((runner) => runner.readCounter(key)) ?? 0;
  const commitNow = (transaction: Transaction) => writer.commitNow(transaction).result;
  const { clock } = connection;
  const health = () => monitor.health;
  const windowCount = (key: string, atMs: number, keepMs: number): WindowCount =>
    connection.attempt((runner) => runner.countWindow(key, atMs, keepMs)) ?? { count: 0, oldestMs: atMs };
  const sharing = createSharing({
    process,
    clock,
    cell: open,
    health,
    commitNow,
    commit: writer.commit,
    windowCount,
  });

  const shared: SharedStore = {
    process,
    secret,
    get health() {
      return monitor.health;
    },
    refresh: writer.refresh,
    commitNow,
    commit: writer.commit,
    breakers: sharing.breakers,
    workers: sharing.workers,
    rules: sharing.rules,
    subscribeToOrders: sharing.subscribeToOrders,
    publishTasks: sharing.publishTasks,
    counter,
    windowCount,
    read: async (prefix, most) => connection.read(prefix, most),
    entries: async (fromSeq, most) => {
      writer.flush();
      return connection.entries(fromSeq, most, false);
    },
    watch: monitor.watch,
    evict: views.remove,
    settled: writer.settled,
  };

  return {
    clock: connection.clock,
    shared,
    cell: open,
    drop(key) {
      views.remove(key);
      writer.drop(key);
    },
    keys: () => [...views.all.keys()].filter((key) => !key.startsWith(cardPrefix)),
    append(body: EntryBody, place: EntryPlace, atMs: number): Entry {
      const entry = { body, place, atMs };
      return isTrace(body.type) ? writer.trace(entry) : writer.record(entry);
    },
    tail,
    putCard(card) {
      const cell = cardCell(card.id);
      writer.commitNow({ changes: [{ cell, update: putCardUpdate(card) }], queueIfUnavailable: true });
    },
    card: (id) => cardCell(id).state ?? undefined,
    cards: () => connection.read(cardPrefix, journalEntriesMax).map(({ state }) => state as Card),
    close() {
      if (closed) return;
      closed = true;
      stopPoll();
      checkpoints.stop();
      writer.close();
      const isDue = checkpoints.isDue();
      // Only the last who closes a file copies its log by itself: of many that overlap none would.
      if (isDue) connection.attempt(() => connection.db.exec('PRAGMA wal_checkpoint(TRUNCATE)'));
      if (!isBrief || isDue) connection.close();
      views.clear();
    },
  };
}

/** Once per file: nothing else here needs crypto to be loaded. */
function createSecret(): string {
  return process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64url');
}

function checkOptions(options: SqliteOptions): void {
  const path: unknown = (options as SqliteOptions | undefined)?.path;
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw new SwitchgearError('invalid_argument', `path must name a file, got ${JSON.stringify(path)}`);
  }
}
