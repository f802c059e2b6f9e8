/** The two doors of a file: a transaction of one's own in this tick, or one for all deals of the tick. */

import type { Entry } from '../../core/event.ts';
import { lockPatienceMs, queuedTransactionsMax } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { PendingEntry, Transaction, TransactionResult } from '../../ports/store.ts';
import type { Views } from '../cells/cell-views.ts';
import { createMadeMarks } from '../cells/own-marks.ts';
import type { HealthMonitor } from '../cells/store-health.ts';
import { confirmTransactions, countHere, isBehind, touchesCards } from '../cells/transaction-plan.ts';
import type { Session } from './connection.ts';
import { codeOf, sentenceOf, troubleOf } from './errors.ts';
import { takeLock } from './lock.ts';
import { createFileRoom } from './overflow.ts';
import { tellFile } from './restore.ts';
import { createTraces } from './trace-buffer.ts';
import type { Ran, Retain } from './transactions.ts';

export interface Writer {
  commitNow(transaction: Transaction): Ran;
  commit(transaction: Transaction): Promise<TransactionResult>;
  record(entry: PendingEntry): Entry;
  trace(entry: PendingEntry): Entry;
  drop(key: string): void;
  refresh(): void;
  /** Writes what waits, if the lock is free. */
  flush(): void;
  sweep(retain: Retain): void;
  /** Tells a file that began anew what this process knows. */
  heal(): void;
  settled(): Promise<void>;
  close(): void;
}

export interface WriterOptions {
  readonly session: Session;
  readonly views: Views;
  readonly monitor: HealthMonitor;
  readonly waitMs: number;
  /** Looks after the log; true where it is too long to go on. */
  lookAfterLog(): boolean;
}

interface Waiting {
  readonly transaction: Transaction;
  readonly sinceMs: number;
  readonly done: ((result: TransactionResult) => void) | undefined;
}

const commitsPerLook = 64;

/** A deal that nobody waits for any more. */
function lateOne(transaction: Transaction): Waiting {
  return { transaction, sinceMs: machineClock.nowMs(), done: undefined };
}

export function createWriter({ session, views, monitor, waitMs, lookAfterLog }: WriterOptions): Writer {
  let waiting: Waiting[] = [];
  const traces = createTraces(() => schedule(0));
  let drops: string[] = [];
  const room = createFileRoom(views, monitor);
  let scheduled = false;
  let tries = 0;
  let provisional = 0;
  let commits = 0;
  let closed = false;
  /** Totals this process has seen, to tell them to a file that began anew. */
  const totals = new Map<string, number>();
  const made = createMadeMarks();

  /** Does something in one transaction; undefined where the lock was not to be had. */
  function inTransaction<T>(patienceMs: number, durable: boolean, work: () => T): T | undefined {
    const { db, runner } = session;
    if (!takeLock(session, patienceMs, durable)) return undefined;
    try {
      tell(runner.refresh());
      const lines = traces.due();
      runner.trace(lines); // What led to a change has lower numbers than what is said of it.
      const result = work();
      runner.commit();
      runner.committed();
      traces.written(lines.length);
      if (++commits % commitsPerLook === 0 && lookAfterLog()) db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      return result;
    } catch (error) {
      runner.rolledBack();
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    } finally {
      if (durable) db.exec('PRAGMA synchronous = NORMAL');
    }
  }

  function tell(changed: readonly string[]): void {
    if (monitor.isWatched) for (const key of changed) monitor.hint({ type: 'cell-changed', key });
  }

  function run(transaction: Transaction): Ran {
    const result = room.without(transaction);
    if (result !== undefined) return { result, entries: [] };
    try {
      const ran = session.runner.run(transaction);
      if (ran.result.status === 'committed') remember(transaction, ran.result.totals);
      return ran;
    } catch (error) {
      // A step that throws is a fault of whoever wrote it; a statement that throws is one of the file.
      if (codeOf(error) > 0 || troubleOf(error) === 'damaged') throw error;
      return { result: { status: 'unavailable', reason: `a step failed: ${String(error)}` }, entries: [] };
    }
  }

  function remember(transaction: Transaction, adds: readonly number[]): void {
    made.record(transaction.marks);
    transaction.adds?.forEach(({ key }, at) => void totals.set(key, adds[at]!));
    if (totals.size > queuedTransactionsMax) totals.delete(totals.keys().next().value!);
  }

  function away(transaction: Transaction, reason: string): TransactionResult {
    if (transaction.queueIfUnavailable !== true) return { status: 'unavailable', reason };
    countHere(transaction, views);
    wait(lateOne(transaction));
    return { status: 'queued' };
  }

  function wait(one: Waiting): void {
    waiting.push(one);
    if (waiting.length > queuedTransactionsMax) {
      const lost = waiting.shift();
      lost?.done?.({ status: 'unavailable', reason: 'too many deals wait for the store' });
    }
    schedule(0);
  }

  function commitNow(transaction: Transaction): Ran {
    if (closed) return { result: { status: 'unavailable', reason: 'the store is closed' }, entries: [] };
    // The file must not judge what it has not heard all of.
    if (isBehind(transaction, views))
      return { result: away(transaction, 'earlier changes of the cell wait'), entries: [] };
    try {
      const ran = inTransaction(waitMs, touchesCards(transaction), () => run(transaction));
      if (ran === undefined) return { result: away(transaction, 'the lock was not free in time'), entries: [] };
      if (waiting.length === 0) recovered();
      if (ran.result.status === 'committed') confirmTransactions([transaction], views, () => ran.entries);
      return { ...ran, result: room.ended(transaction, ran.result) };
    } catch (error) {
      failed(error);
      return { result: away(transaction, sentenceOf(error, 'of this gear')), entries: [] };
    }
  }

  function recovered(): void {
    if (!room.isMissed) monitor.recover('the store answers again');
  }

  function failed(error: unknown): void {
    if (session.trouble(error)) heal();
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

  /** One commit for everything that waits. */
  function flushAll(patienceMs: number): void {
    if (waiting.length + traces.size + drops.length === 0) return;
    const group = waiting;
    const dropped = drops;
    try {
      const durable = group.some(({ transaction }) => touchesCards(transaction));
      const ran = inTransaction(patienceMs, durable, () => {
        for (const key of dropped) session.runner.drop(key, session.clock.nowMs());
        return group.map(({ transaction }) => run(transaction));
      });
      if (ran === undefined) {
        giveUpOld('the lock was not free in time');
        schedule(Math.min(1 + 2 ** Math.min(tries++, 5), 25) * (0.5 + Math.random()));
        return;
      }
      tries = 0;
      waiting = waiting.slice(group.length);
      drops = drops.slice(dropped.length);
      recovered();
      const ended = group.map(({ transaction }, at) => room.ended(transaction, ran[at]!.result));
      const entries = new Map<Transaction, readonly Entry[] | undefined>();
      group.forEach(({ transaction }, at) => {
        const { status } = ended[at]!;
        if (status !== 'queued') entries.set(transaction, status === 'committed' ? ran[at]!.entries : undefined);
      });
      confirmTransactions([...entries.keys()], views, (transaction) => entries.get(transaction));
      group.forEach(({ done }, at) => void done?.(ended[at]!));
    } catch (error) {
      failed(error);
      giveUpOld(sentenceOf(error, 'of this gear'), 0);
      schedule(250);
    }
  }

  /** Whoever has waited long enough decides without the store; what must arrive stays. */
  function giveUpOld(reason: string, patienceMs = lockPatienceMs): void {
    const stay: Waiting[] = [];
    for (const one of waiting) {
      if (one.done === undefined || one.sinceMs > machineClock.nowMs() - patienceMs) {
        stay.push(one);
        continue;
      }
      if (one.transaction.queueIfUnavailable === true) {
        countHere(one.transaction, views);
        stay.push({ ...one, done: undefined });
        one.done({ status: 'queued' });
      } else one.done({ status: 'unavailable', reason });
      monitor.degrade(reason);
    }
    waiting = stay;
    traces.hold();
  }

  function provisionally({ body, place, atMs }: PendingEntry): Entry {
    provisional = Math.max(provisional, session.runner.lastSeq) + 1;
    return { seq: provisional, atMs, wallMs: session.clock.wallMs(), ...place, ...body } as Entry;
  }

  function heal(): void {
    try {
      inTransaction(lockPatienceMs, true, () => tellFile(session, views, totals, made.standing()));
    } catch (error) {
      session.trouble(error);
    }
  }

  return {
    commitNow,
    commit(transaction) {
      if (closed) return Promise.resolve({ status: 'unavailable', reason: 'the store is closed' });
      return new Promise((resolve) => {
        wait({ transaction, sinceMs: machineClock.nowMs(), done: resolve });
      });
    },
    record(entry) {
      const { entries } = commitNow({ entries: [entry], queueIfUnavailable: true });
      return entries[0] ?? provisionally(entry);
    },
    trace(entry) {
      traces.add(entry);
      return provisionally(entry);
    },
    drop(key) {
      totals.delete(key);
      drops.push(key);
      schedule(0);
    },
    refresh() {
      const changed = session.attempt((runner) => runner.refresh());
      if (changed !== undefined && changed.length > 0) tell(changed);
    },
    flush: () => flushAll(waitMs),
    sweep(retain) {
      try {
        inTransaction(0, false, () => {
          session.saveTime();
          session.runner.sweep(session.clock.nowMs(), session.clock.wallMs(), retain);
        });
        if (room.isMissed && !session.runner.isFull) waiting = [...room.again().map(lateOne), ...waiting];
        schedule(0);
      } catch (error) {
        failed(error);
      }
    },
    heal,
    settled: () =>
      new Promise((resolve) => {
        const look = () => {
          if (waiting.length + traces.size + drops.length === 0 || closed || monitor.health.state === 'degraded')
            resolve();
          else machineClock.after(1, look, true);
        };
        look();
      }),
    close() {
      if (closed) return;
      flushAll(lockPatienceMs);
      closed = true;
      for (const { done } of waiting) done?.({ status: 'unavailable', reason: 'the store was closed' });
    },
  };
}
