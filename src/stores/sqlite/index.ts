/** Entry point `switchgear/stores/sqlite`: a store in one file that all processes of a machine share. */

import { createSharing } from '../../coordination/index.ts';
import type { Card } from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import { type Entry, type EntryBody, type EntryPlace, isTrace } from '../../core/event.ts';
import { journalEntriesMax, lockWaitMs, storedKeysMax, storePollMs } from '../../core/limits.ts';
import { quoteValue } from '../../core/quote.ts';
import { machineClock, startInterval } from '../../platform/machine-clock.ts';
import { onProcessEnd } from '../../platform/process-end.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CellOptions, SharedStore, Store, Transaction, WindowCount } from '../../ports/store.ts';
import { createViews, type Views } from '../cells/cell-views.ts';
import { createHealthMonitor, type HealthMonitor, makeLossCard, reportUnreadableCell } from '../cells/store-health.ts';
import { cardPrefix, laterCard, putCardUpdate } from '../cells/transaction-plan.ts';
import { type Checkpoints, createCheckpoints } from './checkpoint.ts';
import { createSqliteConnection, type SqliteConnection } from './connection.ts';
import { type RetentionLimits, secretKey } from './transactions.ts';
import { createWriter, type Writer } from './writer.ts';

/** The options of `sqliteStore`. */
export interface SqliteOptions {
  /** The path of the file. A missing file or folder is created with access for this user only. */
  readonly path: string;
  /**
   * How long a synchronous caller waits for the lock, in milliseconds.
   *
   * @default 5
   */
  readonly waitMs?: number;
  /**
   * How much of the journal is kept.
   *
   * @default 30 days and 64 megabytes
   */
  readonly retain?: { readonly days?: number; readonly megabytes?: number };
  /**
   * The most cells in the file; a new cell beyond this limit is known to its own process only.
   *
   * @default 1_000_000
   */
  readonly keysMax?: number;
  /**
   * Whether every row is checked when the file is opened.
   *
   * @default true
   */
  readonly verify?: boolean;
  /**
   * Whether `close` leaves a short write-ahead log in place instead of waiting for the disk, for a process that exits
   * at once.
   *
   * @default false
   */
  readonly skipCheckpoint?: boolean;
  /**
   * The clock of the store, for tests.
   * @default the machine's clock
   */
  readonly clock?: Clock;
}

/** A store in a file, with the part that processes share. */
export type SqliteStore = Store & { readonly shared: SharedStore };

/** The parts of an open store. */
interface StoreParts {
  readonly connection: SqliteConnection;
  readonly views: Views;
  readonly monitor: HealthMonitor;
  readonly writer: Writer;
  readonly checkpoints: Checkpoints;
}

/**
 * Opens the store in a file. Throws `SwitchgearError` if the file cannot be opened or belongs to another program.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { sqliteStore } from 'switchgear/stores/sqlite';
 *
 * const gear = createSwitchgear({ store: sqliteStore({ path: 'switchgear.db' }) });
 */
export function sqliteStore(options: SqliteOptions): SqliteStore {
  checkOptions(options);
  const parts = openParts(options);
  const { connection, views, writer, checkpoints } = parts;
  const bytes = (options.retain?.megabytes ?? 64) * 1_048_576;
  const retain = { days: options.retain?.days ?? 30, bytes, cells: options.keysMax ?? storedKeysMax };
  const shared = createShared(parts, retain);
  let closed = false;
  const forgetEnd = onProcessEnd(() => shared.counters?.flushNow());
  // After the caller has seen the health of the store; closing it reports the loss, too.
  machineClock.after(0, () => reportLoss(parts));
  // Answers and orders of people reach a process that waits, well within a second.
  const stopLooking = startInterval(storePollMs / 5, () => writer.refresh());
  const stopPoll = startInterval(storePollMs, () => {
    if (connection.reopenIfReplaced() || !writer.isRestored) writer.restore();
    reportLoss(parts);
    writer.refresh();
    writer.sweep(retain);
    void shared.counters?.flush();
    checkpoints.copyLogIfLong();
  });
  return {
    clock: connection.clock,
    shared,
    cell: (key, initial, cellOptions) => openCell(parts, key, initial, cellOptions),
    drop(key) {
      views.remove(key);
      writer.drop(key);
    },
    keys: () => [...views.all.keys()].filter((key) => !key.startsWith(cardPrefix)),
    append(body: EntryBody, place: EntryPlace, atMs: number): Entry {
      const entry = { body, place, atMs };
      return isTrace(body.type) ? writer.trace(entry) : writer.record(entry);
    },
    tail(fromSeq) {
      writer.flush();
      return connection.entries(fromSeq, journalEntriesMax, true) ?? [];
    },
    putCard(card) {
      const cell = cardCell(parts, card.id);
      writer.commitNow({ changes: [{ cell, update: putCardUpdate(card) }], queueIfUnavailable: true });
    },
    card: (id) => cardCell(parts, id).state ?? undefined,
    cards: () => connection.read(cardPrefix, journalEntriesMax).map(({ state }) => state as Card),
    close() {
      if (closed) return;
      closed = true;
      stopLooking();
      stopPoll();
      forgetEnd();
      shared.counters?.flushNow();
      closeParts(parts, options.skipCheckpoint ?? false);
    },
  };
}

function openParts({ path, waitMs = lockWaitMs, verify = true, clock }: SqliteOptions): StoreParts {
  const monitor = createHealthMonitor();
  const views = createViews((key, isKnown) => reportUnreadableCell(monitor, key, isKnown));
  const connection = createSqliteConnection({ path, verify, views, monitor, clock });
  const checkpoints = createCheckpoints(path);
  const writer = createWriter({ connection, views, monitor, waitMs, copyLogIfLong: checkpoints.copyLogIfLong });
  return { connection, views, monitor, writer, checkpoints };
}

/** Creates the part of the store that other processes see. */
function createShared(parts: StoreParts, retain: RetentionLimits): SharedStore {
  const { connection, views, monitor, writer } = parts;
  const process = `p${uniqueId()}`;
  const secret = connection.once(secretKey, createSecret);
  const commitNow = (transaction: Transaction) => writer.commitNow(transaction).result;
  const windowCount = (key: string, atMs: number, keepMs: number): WindowCount =>
    connection.attempt((runner) => runner.countWindow(key, atMs, keepMs)) ?? { count: 0, oldestMs: atMs };
  const sharing = createSharing({
    process,
    clock: connection.clock,
    cell: (key, initial, cellOptions) => openCell(parts, key, initial, cellOptions),
    health: () => monitor.health,
    commitNow,
    commit: writer.commit,
    windowCount,
  });
  return {
    process,
    secret,
    get health() {
      return monitor.health;
    },
    refresh: writer.refresh,
    commitNow,
    commit: writer.commit,
    ...sharing,
    counter: (key) => connection.attempt((runner) => runner.readCounter(key)) ?? 0,
    readCounters: async (keys) => {
      const read = connection.attempt((runner) => keys.map(runner.readCounter));
      if (read === undefined) throw new SwitchgearError('store_unreachable', 'the totals of the store cannot be read');
      return read;
    },
    windowCount,
    read: async (prefix, most) => connection.read(prefix, most),
    entries: async (fromSeq, most) => {
      writer.flush();
      for (let tries = 1; ; tries++) {
        const entries = connection.entries(fromSeq, most, false);
        if (entries !== undefined) return entries;
        if (tries >= journalReadsMax)
          throw new SwitchgearError('store_unreachable', 'the journal of the store cannot be read');
        // Another process may have locked the file, as the last one does that closes it.
        await new Promise<void>((resolve) => void machineClock.after(journalReadPauseMs, resolve, true));
      }
    },
    size: async () => ({
      ...connection.attempt((runner) => runner.measure()),
      ...{ bytesMax: retain.bytes, cellsMax: retain.cells, keepDays: retain.days },
    }),
    watch: monitor.watch,
    measure: monitor.measure,
    evict: views.evict,
    settled: writer.settled,
  };
}

function openCell<S>({ connection, views }: StoreParts, key: string, initial: () => S, options?: CellOptions<S>) {
  return views.open(key, initial, options, () => connection.attempt((runner) => runner.readCell(key))).cell;
}

function cardCell(parts: StoreParts, id: string) {
  return openCell<Card | null>(parts, cardPrefix + id, () => null, { join: laterCard });
}

/** Opens a card for a loss of data: the journal alone would tell it only to somebody who reads it. */
function reportLoss(parts: StoreParts): void {
  const { connection, writer } = parts;
  const loss = connection.takeLoss();
  if (loss === undefined) return;
  const card = makeLossCard(loss.id, loss.reason);
  const pending = { body: { type: 'card-changed', card }, place: {}, atMs: connection.clock.nowMs() } as const;
  const changes = [{ cell: cardCell(parts, card.id), update: putCardUpdate(card) }];
  writer.commitNow({ changes, entries: [pending], queueIfUnavailable: true });
}

function closeParts(parts: StoreParts, skipCheckpoint: boolean): void {
  const { connection, views, writer, checkpoints } = parts;
  checkpoints.stop();
  // A process that ends is the last that knows what it spent.
  if (connection.reopenIfReplaced()) writer.restore();
  reportLoss(parts);
  writer.close();
  const isDue = checkpoints.isDue();
  // SQLite copies the log when the last process closes the file, which never happens while processes overlap.
  if (isDue) connection.attempt(() => connection.db.exec('PRAGMA wal_checkpoint(TRUNCATE)'));
  if (!skipCheckpoint || isDue) connection.close();
  views.clear();
}

/** How often a read of the journal is tried, and the pause between. */
const journalReadsMax = 5;
const journalReadPauseMs = 20;

/** Creates the secret of a new file; `node:crypto` is loaded only for this. */
function createSecret(): string {
  return process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64url');
}

function checkOptions(options: SqliteOptions): void {
  const path: unknown = (options as SqliteOptions | undefined)?.path;
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw invalid(`path must name a file, got ${JSON.stringify(path)}`);
  }
  const { retain = {}, waitMs, keysMax } = options;
  for (const name in options)
    if (!optionNames.includes(name))
      throw invalid(`sqliteStore has no ${quoteValue(name)}; it has ${optionNames.join(', ')}`);
  for (const name in retain)
    if (name !== 'days' && name !== 'megabytes')
      throw invalid(`retain has no ${quoteValue(name)}; it has days, megabytes`);
  for (const [name, value] of Object.entries({
    waitMs,
    'retain.days': retain.days,
    'retain.megabytes': retain.megabytes,
  }))
    if (value !== undefined && !(Number.isFinite(value) && value >= 0))
      throw invalid(`${name} must be a number from 0, got ${quoteValue(value)}`);
  if (keysMax !== undefined && !(Number.isSafeInteger(keysMax) && keysMax >= 1))
    throw invalid(`keysMax must be a whole number from 1, got ${quoteValue(keysMax)}`);
}

const optionNames: readonly string[] = ['path', 'waitMs', 'retain', 'keysMax', 'verify', 'skipCheckpoint', 'clock'];

function invalid(message: string): SwitchgearError {
  return new SwitchgearError('invalid_argument', message);
}
