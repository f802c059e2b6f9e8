/** Commits transactions to a file: at once in this tick, or together with all others of the tick. */

import type { Entry } from '../../core/event.ts';
import { lockPatienceMs, queuedTransactionsMax } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { PendingEntry, Transaction, TransactionResult } from '../../ports/store.ts';
import type { Views } from '../cells/cell-views.ts';
import { createOwnMarks } from '../cells/own-marks.ts';
import type { HealthMonitor } from '../cells/store-health.ts';
import {
  applyHere,
  confirmTransactions,
  hasUnconfirmedChanges,
  takesMoney,
  touchesCards,
} from '../cells/transaction-plan.ts';
import type { SqliteConnection } from './connection.ts';
import { classifySqliteError, describeError, sqliteCodeOf } from './errors.ts';
import { acquireLock } from './lock.ts';
import { createFileOverflow } from './overflow.ts';
import { restoreFile } from './restore.ts';
import { createTraceBuffer } from './trace-buffer.ts';
import type { ExecutedTransaction, RetentionLimits } from './transactions.ts';

/** Writes transactions and entries to one file. */
export interface Writer {
  commitNow(transaction: Transaction): ExecutedTransaction;
  commit(transaction: Transaction): Promise<TransactionResult>;
  record(entry: PendingEntry): Entry;
  trace(entry: PendingEntry): Entry;
  drop(key: string): void;
  refresh(): void;
  /** Writes all waiting transactions, traces and drops if the lock is free. */
  flush(): void;
  sweep(retain: RetentionLimits): void;
  /** Writes the known state of this process into a new file. */
  restore(): void;
  /** Whether the file has what this process knows; false until `restore` has worked. */
  readonly isRestored: boolean;
  settled(): Promise<void>;
  close(): void;
}

/** The options of `createWriter`. */
export interface WriterOptions {
  readonly connection: SqliteConnection;
  readonly views: Views;
  readonly monitor: HealthMonitor;
  readonly waitMs: number;
  /** Starts a copy of a long log; returns true if the writer has to copy it. */
  copyLogIfLong(): boolean;
}

interface QueuedTransaction {
  readonly transaction: Transaction;
  readonly sinceMs: number;
  readonly done: ((result: TransactionResult) => void) | undefined;
}

const commitsPerLook = 64;
/** How long a grant waits at least for a file that is being restored. */
const retryMs = 50;
const restoring = 'the file was deleted or replaced, and its state is being restored';

/** Returns a queued transaction for whose result no caller waits. */
function withoutCaller(transaction: Transaction): QueuedTransaction {
  return { transaction, sinceMs: machineClock.nowMs(), done: undefined };
}

/** Creates the writer of one file. */
export function createWriter({ connection, views, monitor, waitMs, copyLogIfLong }: WriterOptions): Writer {
  let waiting: QueuedTransaction[] = [];
  const traces = createTraceBuffer(() => schedule(0));
  let drops: string[] = [];
  const overflow = createFileOverflow(views, monitor);
  let scheduled = false;
  let tries = 0;
  let provisional = 0;
  let commits = 0;
  let closed = false;
  /** Whether the file has what this process knows. */
  let isRestored = true;
  /** The last known counter totals, to restore them in a new file. */
  const totals = new Map<string, number>();
  const ownMarks = createOwnMarks();

  /** Runs work in one SQLite transaction; returns undefined if the lock was busy. */
  function inTransaction<T>(patienceMs: number, durable: boolean, work: () => T): T | undefined {
    const { db, runner } = connection;
    const endOperation = monitor.beginOperation('transaction');
    if (!acquireLock(connection, patienceMs, durable)) return undefined;
    try {
      hintChanges(runner.refresh());
      const lines = traces.waiting();
      runner.writeTraces(lines); // Traces before a change get lower numbers than its entries.
      const result = work();
      runner.commit();
      runner.afterCommit();
      traces.removeWritten(lines.length);
      if (++commits % commitsPerLook === 0 && copyLogIfLong()) db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      return result;
    } catch (error) {
      runner.afterRollback();
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    } finally {
      if (durable) db.exec('PRAGMA synchronous = NORMAL');
      endOperation?.();
    }
  }

  /** Tells watchers after the transaction: one that reads the store inside it would end the wait of its caller. */
  function hintChanges(changed: readonly string[]): void {
    if (changed.length === 0 || !monitor.isWatched) return;
    queueMicrotask(() => {
      for (const key of changed) monitor.hint({ type: 'cell-changed', key });
    });
  }

  function execute(transaction: Transaction): ExecutedTransaction {
    const result = overflow.findFullCell(transaction);
    if (result !== undefined) return { result, entries: [] };
    try {
      const executed = connection.runner.execute(transaction);
      if (executed.result.status === 'committed') rememberCommitted(transaction, executed.result.totals);
      return executed;
    } catch (error) {
      // An error of an update belongs to its caller; an error of a statement belongs to the file.
      if (sqliteCodeOf(error) > 0 || classifySqliteError(error) === 'damaged') throw error;
      return { result: { status: 'unavailable', reason: `an update failed: ${String(error)}` }, entries: [] };
    }
  }

  function rememberCommitted(transaction: Transaction, adds: readonly number[]): void {
    ownMarks.record(transaction.marks);
    transaction.adds?.forEach(({ key }, at) => void totals.set(key, adds[at]!));
    if (totals.size > queuedTransactionsMax) totals.delete(totals.keys().next().value!);
  }

  /** Whether the file may grant money: it is the one that all processes use, and has what this process knows. */
  function canGrant(): boolean {
    if (connection.reopenIfReplaced() || !isRestored) restore();
    return isRestored && connection.graceMs() === 0;
  }

  function queueOrGiveUp(transaction: Transaction, reason: string): TransactionResult {
    if (transaction.queueIfUnavailable !== true) return { status: 'unavailable', reason };
    applyHere(transaction, views);
    enqueue(withoutCaller(transaction));
    return { status: 'queued' };
  }

  function enqueue(queued: QueuedTransaction): void {
    waiting.push(queued);
    if (waiting.length > queuedTransactionsMax) {
      const dropped = waiting.shift();
      dropped?.done?.({ status: 'unavailable', reason: 'too many transactions wait for the store' });
    }
    schedule(0);
  }

  function commitNow(transaction: Transaction): ExecutedTransaction {
    if (closed) return { result: { status: 'unavailable', reason: 'the store is closed' }, entries: [] };
    if (takesMoney(transaction) && !canGrant()) return { result: queueOrGiveUp(transaction, restoring), entries: [] };
    // The file cannot judge a cell before it has all earlier changes.
    if (hasUnconfirmedChanges(transaction, views))
      return { result: queueOrGiveUp(transaction, 'earlier changes of the cell are queued'), entries: [] };
    try {
      const executed = inTransaction(waitMs, touchesCards(transaction), () => execute(transaction));
      if (executed === undefined)
        return { result: queueOrGiveUp(transaction, 'the lock was not free in time'), entries: [] };
      if (waiting.length === 0) reportRecovered();
      if (executed.result.status === 'committed') confirmTransactions([transaction], views, () => executed.entries);
      return { ...executed, result: overflow.queueIfFull(transaction, executed.result) };
    } catch (error) {
      handleFailure(error);
      return { result: queueOrGiveUp(transaction, describeError(error, 'of this gear')), entries: [] };
    }
  }

  function reportRecovered(): void {
    if (!overflow.hasQueued) monitor.recover('the store answers again');
  }

  function handleFailure(error: unknown): void {
    if (connection.handleError(error)) restore();
  }

  function schedule(delayMs: number): void {
    if (scheduled || closed) return;
    scheduled = true;
    const go = () => {
      scheduled = false;
      flushAll(0);
    };
    if (delayMs === 0) setImmediate(go);
    else
      machineClock.after(
        delayMs,
        go,
        waiting.some(({ done }) => done !== undefined),
      );
  }

  /** Commits everything that waits in one SQLite transaction. */
  function flushAll(patienceMs: number): void {
    deferGrants();
    if (waiting.length + traces.size + drops.length === 0) return;
    const group = waiting;
    const dropped = drops;
    try {
      const durable = group.some(({ transaction }) => touchesCards(transaction));
      const executed = inTransaction(patienceMs, durable, () => {
        for (const key of dropped) connection.runner.drop(key, connection.clock.nowMs());
        return group.map(({ transaction }) => execute(transaction));
      });
      if (executed === undefined) {
        expireWaiting('the lock was not free in time');
        schedule(Math.min(1 + 2 ** Math.min(tries++, 5), 25) * (0.5 + Math.random()));
        return;
      }
      tries = 0;
      waiting = waiting.slice(group.length);
      drops = drops.slice(dropped.length);
      reportRecovered();
      const ended = group.map(({ transaction }, at) => overflow.queueIfFull(transaction, executed[at]!.result));
      const entries = new Map<Transaction, readonly Entry[] | undefined>();
      group.forEach(({ transaction }, at) => {
        const { status } = ended[at]!;
        if (status !== 'queued') entries.set(transaction, status === 'committed' ? executed[at]!.entries : undefined);
      });
      confirmTransactions([...entries.keys()], views, (transaction) => entries.get(transaction));
      group.forEach(({ done }, at) => void done?.(ended[at]!));
    } catch (error) {
      handleFailure(error);
      expireWaiting(describeError(error, 'of this gear'), 0);
      schedule(250);
    }
  }

  /** Ends the wait of callers after `patienceMs`; transactions with `queueIfUnavailable` stay queued. */
  function expireWaiting(reason: string, patienceMs = lockPatienceMs): void {
    const remaining: QueuedTransaction[] = [];
    for (const queued of waiting) {
      if (queued.done === undefined || queued.sinceMs > machineClock.nowMs() - patienceMs) {
        remaining.push(queued);
        continue;
      }
      if (queued.transaction.queueIfUnavailable === true) {
        applyHere(queued.transaction, views);
        remaining.push({ ...queued, done: undefined });
        queued.done({ status: 'queued' });
      } else queued.done({ status: 'unavailable', reason });
      monitor.degrade(reason);
    }
    waiting = remaining;
    traces.trim();
  }

  function makeProvisionalEntry({ body, place, atMs }: PendingEntry): Entry {
    provisional = Math.max(provisional, connection.runner.lastSeq) + 1;
    return { seq: provisional, atMs, wallMs: connection.clock.wallMs(), ...place, ...body } as Entry;
  }

  function restore(): void {
    isRestored = false; // Until it has worked; a later attempt follows.
    try {
      isRestored =
        inTransaction(lockPatienceMs, true, () => {
          restoreFile(connection, views, totals, ownMarks.active());
          return true;
        }) ?? false;
    } catch (error) {
      connection.handleError(error);
    }
  }

  /** Moves transactions that take money out of the queue while the file grants none. */
  function deferGrants(): void {
    if (!waiting.some(({ transaction }) => takesMoney(transaction)) || canGrant()) return;
    const deferred = waiting.filter(({ transaction }) => takesMoney(transaction));
    waiting = waiting.filter(({ transaction }) => !takesMoney(transaction));
    for (const queued of deferred)
      machineClock.after(Math.max(connection.graceMs(), retryMs), () => requeue(queued), true);
  }

  function requeue(queued: QueuedTransaction): void {
    if (closed) queued.done?.({ status: 'unavailable', reason: 'the store is closed' });
    else enqueue({ ...queued, sinceMs: machineClock.nowMs() });
  }

  return {
    commitNow,
    commit(transaction) {
      if (closed) return Promise.resolve({ status: 'unavailable', reason: 'the store is closed' });
      return new Promise((resolve) => {
        if (takesMoney(transaction) && connection.graceMs() > 0) {
          const queued = { transaction, sinceMs: machineClock.nowMs(), done: resolve };
          machineClock.after(connection.graceMs(), () => requeue(queued), true);
        } else enqueue({ transaction, sinceMs: machineClock.nowMs(), done: resolve });
      });
    },
    record(entry) {
      const { entries } = commitNow({ entries: [entry], queueIfUnavailable: true });
      return entries[0] ?? makeProvisionalEntry(entry);
    },
    trace(entry) {
      traces.add(entry);
      return makeProvisionalEntry(entry);
    },
    drop(key) {
      totals.delete(key);
      drops.push(key);
      schedule(0);
    },
    refresh() {
      const changed = connection.attempt((runner) => runner.refresh());
      if (changed !== undefined) hintChanges(changed);
    },
    flush: () => flushAll(waitMs),
    sweep(retain) {
      try {
        inTransaction(0, false, () => {
          connection.saveTime();
          connection.runner.sweep(connection.clock.nowMs(), connection.clock.wallMs(), retain);
        });
        if (overflow.hasQueued && !connection.runner.isFull)
          waiting = [...overflow.takeQueued().map(withoutCaller), ...waiting];
        schedule(0);
      } catch (error) {
        handleFailure(error);
      }
    },
    restore,
    get isRestored() {
      return isRestored;
    },
    settled: () =>
      new Promise((resolve) => {
        const checkSettled = () => {
          if (waiting.length + traces.size + drops.length === 0 || closed || monitor.health.state === 'degraded')
            resolve();
          else machineClock.after(1, checkSettled, true);
        };
        checkSettled();
      }),
    close() {
      if (closed) return;
      if (!isRestored) restore();
      flushAll(lockPatienceMs);
      closed = true;
      for (const { done } of waiting) done?.({ status: 'unavailable', reason: 'the store was closed' });
    },
  };
}
