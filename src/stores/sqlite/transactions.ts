/** Executes transactions of the store inside one SQLite transaction. */

import type { DatabaseSync } from 'node:sqlite';
import { SwitchgearError } from '../../core/error.ts';
import type { Entry } from '../../core/event.ts';
import { cardsMax } from '../../core/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  CounterAdd,
  PendingEntry,
  Transaction,
  TransactionResult,
  WindowCount,
  WindowMark,
} from '../../ports/store.ts';
import { type KnownCell, keepReusable, type View, type Views } from '../cells/cell-views.ts';
import { cardPrefix, isForOperators, planTransaction, type Rejected } from '../cells/transaction-plan.ts';
import { DamagedRow } from './errors.ts';
import { checksumOf } from './file.ts';
import { createJournalRows, dropOldest } from './journal-rows.ts';
import { blockOf, migrations, newerThan } from './schema.ts';
import { prepareStatements } from './statements.ts';

/** The result of one transaction, and the entries that it wrote. */
export interface ExecutedTransaction {
  readonly result: TransactionResult;
  readonly entries: readonly Entry[];
}

/** The limits of the journal in days and bytes, and the most cells. */
export interface RetentionLimits {
  readonly days: number;
  readonly bytes: number;
  readonly cells: number;
}

const dayMs = 86_400_000;

/** The key of the file's secret in the table `meta`. */
export const secretKey = 'secret';

/** Reads and writes one open file. */
export interface TransactionRunner {
  begin(): void;
  commit(): void;
  /** Executes a transaction inside the open SQLite transaction; writes nothing if it is rejected. */
  execute(transaction: Transaction): ExecutedTransaction;
  /** Updates the views with the committed changes. */
  afterCommit(): void;
  afterRollback(): void;
  /** Reads the changes of other processes into the views; returns the keys of changed views. */
  refresh(): readonly string[];
  readCell(key: string): KnownCell | undefined;
  /** The rows of the cells with a prefix, in the order of their keys. */
  readCells(prefix: string, most: number): readonly Readonly<Record<string, unknown>>[];
  writeEntry(entry: PendingEntry): Entry;
  /** Writes traces in as few rows as possible. */
  writeTraces(entries: readonly PendingEntry[]): void;
  readCounter(key: string): number;
  countWindow(key: string, atMs: number, keepMs: number): WindowCount;
  readMeta(key: string): string | undefined;
  setMeta(key: string, value: string): void;
  drop(key: string, untilMs: number): void;
  /** Deletes expired cells, counters, marks and entries, at most 500 of each. */
  sweep(atMs: number, wallMs: number, retain: RetentionLimits): void;
  /** Bytes in use, and the number of cells. */
  measure(): { readonly bytes: number; readonly cells: number };
  /** The highest sequence number of an entry. */
  readonly lastSeq: number;
  /** Whether the file had too many cells at the last sweep. */
  readonly isFull: boolean;
  /** The highest version that this process has seen. */
  readonly seenVersion: number;
  /** Whether the file has no version that this process has seen, so that it lost changes. */
  readonly hasForgotten: boolean;
  /** Writes a known cell into a new file; needs an open transaction. */
  restoreCell(view: View, version: number, text: string): void;
  raiseCounter(key: string, atLeast: number): void;
}

/** Creates the runner of one open file. */
export function createTransactionRunner(
  db: DatabaseSync,
  views: Views,
  { wallMs, nowMs }: Clock,
  secret: () => string,
): TransactionRunner {
  const lines = createJournalRows(() => readMeta(secretKey) ?? secret());
  const statements = prepareStatements(db);
  let seenData = -1;
  let seenVersion = Number(statements.maxVersion.get()?.version ?? 0);
  let isFull = false;
  /** The cells that the open transaction wrote; the views get them after the commit. */
  const pending = new Map<View, { version: number; text: string | undefined; state: unknown }>();
  let pendingVersion = 0;
  let pendingSeq = 0;
  let lastSeq = 0;

  function refresh(): readonly string[] {
    const [data] = statements.dataVersion.get() as unknown as [number];
    if (data === seenData) return none;
    const version = Number(statements.format.get()?.user_version);
    // A newer version of Switchgear migrated the open file; two versions must not write to one file.
    if (version > migrations.length) throw new SwitchgearError('store_newer', `it ${newerThan(version)}`);
    const changed: string[] = [];
    for (const row of statements.changedCells.all(blockOf(seenVersion), seenVersion)) {
      const key = String(row.key);
      const stored = checkRow(key, row);
      seenVersion = stored.version;
      const view = views.all.get(key);
      if (view !== undefined && views.setStored(view, stored.version, stored.text)) changed.push(key);
    }
    lastSeq = Number(statements.lastSeq.get()?.seq ?? 0);
    seenData = data;
    return changed;
  }

  function checkRow(key: string, row: Readonly<Record<string, unknown>>): KnownCell {
    const { version, state, crc } = row;
    if (checksumOf(key, version, state ?? '') !== crc) throw new DamagedRow('cells', key);
    return { version: version as number, text: (state ?? undefined) as string | undefined };
  }

  function readCell(key: string): KnownCell | undefined {
    const row = statements.readCell.get(key);
    return row === undefined ? undefined : checkRow(key, row);
  }

  function nextVersion(): number {
    if (pendingVersion === 0) pendingVersion = seenVersion;
    return ++pendingVersion;
  }

  function writeCell(
    view: View | undefined,
    key: string,
    text: string | undefined,
    untilMs: number | null,
    state?: unknown,
  ): void {
    const version = nextVersion();
    const crc = checksumOf(key, version, text ?? '');
    const block = blockOf(version);
    const row = [version, untilMs, text ?? null, crc, key, block] as const;
    // A known cell usually exists, often in the same block; an expired cell does not.
    const isThere =
      view?.text !== undefined &&
      blockOf(view.cell.version) === block &&
      statements.updateInBlock.run(...row).changes === 1;
    if (!isThere) statements.put.run(...row);
    if (view !== undefined) pending.set(view, { version, text, state });
  }

  function expiryOf({ options: { keepMs } }: View): number | null {
    return keepMs === undefined ? null : nowMs() + keepMs;
  }

  function readCounter(key: string): number {
    const row = statements.total.get(key);
    if (row === undefined) return 0;
    if (checksumOf(key, row.total) !== row.crc) throw new DamagedRow('sums', key);
    return Number(row.total);
  }

  function setTotal(key: string, total: number, keepMs?: number): void {
    statements.setTotal.run(key, total, keepMs === undefined ? null : nowMs() + keepMs, checksumOf(key, total));
  }

  function measure() {
    const pages = (name: string) => Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
    const bytes = (pages('page_count') - pages('freelist_count')) * pages('page_size');
    return { bytes, cells: Number(statements.count.get()?.n ?? 0) };
  }

  function countWindow(key: string, id: string, atMs: number, keepMs: number): WindowCount {
    const row = statements.window.get(key, atMs - keepMs, id);
    return { count: Number(row?.n ?? 0), oldestMs: Number(row?.oldest ?? atMs) };
  }

  function addMark({ key, id, atMs, keepMs, cap }: WindowMark): WindowCount {
    statements.mark.run(key, id, atMs, atMs + keepMs);
    const { count, oldestMs } = countWindow(key, '', atMs, keepMs);
    if (count <= cap) return { count, oldestMs };
    statements.trim.run(key, key, cap);
    return countWindow(key, '', atMs, keepMs);
  }

  function readMeta(name: string): string | undefined {
    const row = statements.meta.get(name);
    if (row === undefined) return undefined;
    if (checksumOf(name, row.value) !== row.crc) throw new DamagedRow('meta', name);
    return String(row.value);
  }

  /** Reserves sequence numbers; returns the last one. */
  function nextSeq(count: number): number {
    if (pendingSeq === 0) pendingSeq = lastSeq;
    pendingSeq += count;
    return pendingSeq;
  }

  function writeEntry(entry: PendingEntry): Entry {
    const { body, place, atMs } = entry;
    const seq = nextSeq(1);
    const wall = wallMs();
    const text = lines.recordText(entry);
    statements.write.run(seq, atMs, wall, text, checksumOf(seq, text));
    return { seq, atMs, wallMs: wall, ...place, ...body } as Entry;
  }

  function writeTraces(entries: readonly PendingEntry[]): void {
    const wall = wallMs();
    for (const { count, atMs, text } of lines.traceRows(entries)) {
      const seq = nextSeq(count);
      statements.write.run(seq, atMs, wall, text, checksumOf(seq, text));
    }
  }

  /** Deletes the oldest card if there are more than `cardsMax`. */
  function makeRoomForCards(): void {
    const end = `${cardPrefix.slice(0, -1)}0`;
    if (Number(statements.cards.get(cardPrefix, end)?.n) <= cardsMax) return;
    const key = statements.oldestCard.get(cardPrefix, end)?.key;
    if (typeof key === 'string') writeCell(views.all.get(key), key, undefined, nowMs());
  }

  function findRejection(transaction: Transaction, current: ReadonlyMap<string, number>): Rejected | undefined {
    for (const { key, id, atMs, keepMs, most } of transaction.marks ?? []) {
      if (most !== undefined && countWindow(key, id, atMs, keepMs).count + 1 > most)
        return { status: 'rejected', by: 'mark', key };
    }
    const added = new Map(current);
    for (const { key, amount, ceiling } of transaction.adds ?? []) {
      const total = added.get(key)! + amount;
      if (amount > 0 && ceiling !== undefined && total > ceiling) return { status: 'rejected', by: 'counter', key };
      added.set(key, total);
    }
    return undefined;
  }

  function execute(transaction: Transaction): ExecutedTransaction {
    const plan = planTransaction(transaction, views, (view) =>
      pending.has(view) ? pending.get(view)!.text : view.text,
    );
    if ('status' in plan) return { result: plan, entries: none };
    const current = new Map(transaction.adds?.map(({ key }) => [key, readCounter(key)]));
    const rejection =
      transaction.adds === undefined && transaction.marks === undefined
        ? undefined
        : findRejection(transaction, current);
    if (rejection !== undefined) return { result: rejection, entries: none };
    for (const { view } of plan.cells) {
      if (isFull && view.text === undefined && !pending.has(view) && !isForOperators(view.cell.key))
        return { result: { status: 'rejected', by: 'full', key: view.cell.key }, entries: none };
    }
    for (const { view, text, state } of plan.cells) {
      writeCell(view, view.cell.key, text, expiryOf(view), state);
      if (view.cell.key.startsWith(cardPrefix)) makeRoomForCards();
    }
    const totals = (transaction.adds ?? none).map(({ key, amount, keepMs }: CounterAdd) => {
      const total = current.get(key)! + amount;
      current.set(key, total);
      setTotal(key, total, keepMs);
      return total;
    });
    const windowCounts = (transaction.marks ?? none).map(addMark);
    return { result: { status: 'committed', totals, windowCounts }, entries: plan.entries.map(writeEntry) };
  }

  return {
    begin: () => void statements.begin.run(),
    commit: () => void statements.commit.run(),
    execute,
    refresh,
    readCell,
    // Without an upper bound, a prefix that no key has would be looked for in all later keys.
    readCells: (prefix, most) => statements.readCells.all(prefix, `${prefix}\u{10ffff}`, prefix.length, prefix, most),
    writeEntry,
    writeTraces,
    afterCommit() {
      for (const [view, { version, text, state }] of pending) {
        views.setStored(view, version, text);
        if (text !== undefined) keepReusable(views, { view, text, state });
      }
      if (pendingVersion > 0) seenVersion = pendingVersion;
      if (pendingSeq > 0) lastSeq = pendingSeq;
      pending.clear();
      pendingVersion = 0;
      pendingSeq = 0;
    },
    afterRollback() {
      pending.clear();
      pendingVersion = 0;
      pendingSeq = 0;
    },
    readCounter,
    countWindow: (key, atMs, keepMs) => countWindow(key, '', atMs, keepMs),
    readMeta,
    setMeta: (key, value) => void statements.setMeta.run(key, value, checksumOf(key, value)),
    drop(key, untilMs) {
      if (statements.readCell.get(key) !== undefined) writeCell(views.all.get(key), key, undefined, untilMs);
      statements.dropSum.run(key);
      statements.dropMarks.run(key);
    },
    restoreCell(view, version, text) {
      if (pendingVersion < version) pendingVersion = Math.max(version, seenVersion);
      writeCell(view, view.cell.key, text, expiryOf(view));
    },
    raiseCounter(key, atLeast) {
      if (readCounter(key) < atLeast) setTotal(key, atLeast);
    },
    sweep(atMs, wall, { days, bytes, cells }) {
      const top = Number(statements.maxVersion.get()?.version ?? 0);
      // The row with the highest version stays, but empty, because the next version is counted from it.
      statements.dropEnded.run(atMs, top);
      const last = statements.lastEnded.get(top, atMs)?.key;
      if (typeof last === 'string') writeCell(views.all.get(last), last, undefined, atMs);
      statements.dropSums.run(atMs);
      statements.dropMarked.run(atMs);
      statements.dropAged.run(wall - days * dayMs);
      const used = measure();
      if (used.bytes > bytes) dropOldest(statements, used.bytes - bytes);
      isFull = used.cells >= cells;
    },
    measure,
    get seenVersion() {
      return seenVersion;
    },
    get hasForgotten() {
      return Number(statements.maxVersion.get()?.version ?? 0) < seenVersion;
    },
    get lastSeq() {
      return lastSeq;
    },
    get isFull() {
      return isFull;
    },
  };
}

const none: readonly never[] = Object.freeze([]);
