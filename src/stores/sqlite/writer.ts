/** The two doors of a file: a transaction of one's own in this tick, or one for all deals of the tick. */

import type { Entry } from '../../core/event.ts';
import { keptDealsMax, lockPatienceMs } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { Deal, Dealt, Note } from '../../ports/store.ts';
import type { Views } from '../cells/cell-views.ts';
import { createMadeMarks } from '../cells/own-marks.ts';
import type { Pulse } from '../cells/store-health.ts';
import { arrived, countHere, isBehind, touchesCards } from '../cells/transaction-plan.ts';
import type { Session } from './connection.ts';
import { codeOf, sentenceOf, troubleOf } from './errors.ts';
import { takeLock } from './lock.ts';
import { createFileRoom } from './overflow.ts';
import { tellFile } from './restore.ts';
import { createTraces } from './trace-buffer.ts';
import type { Ran, Retain } from './transactions.ts';

export interface Writer {
  now(deal: Deal): Ran;
  soon(deal: Deal): Promise<Dealt>;
  record(note: Note): Entry;
  trace(note: Note): Entry;
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
  readonly pulse: Pulse;
  readonly waitMs: number;
  /** Looks after the log; true where it is too long to go on. */
  lookAfterLog(): boolean;
}

interface Waiting {
  readonly deal: Deal;
  readonly sinceMs: number;
  readonly done: ((dealt: Dealt) => void) | undefined;
}

const commitsPerLook = 64;

/** A deal that nobody waits for any more. */
function lateOne(deal: Deal): Waiting {
  return { deal, sinceMs: machineClock.nowMs(), done: undefined };
}

export function createWriter({ session, views, pulse, waitMs, lookAfterLog }: WriterOptions): Writer {
  let waiting: Waiting[] = [];
  const traces = createTraces(() => schedule(0));
  let drops: string[] = [];
  const room = createFileRoom(views, pulse);
  let scheduled = false;
  let tries = 0;
  let provisional = 0;
  let commits = 0;
  let closed = false;
  /** Totals this process has seen, to tell them to a file that began anew. */
  const totals = new Map<string, number>();
  const made = createMadeMarks();

  /** Does something in one transaction; undefined where the lock was not to be had. */
  function transaction<T>(patienceMs: number, durable: boolean, work: () => T): T | undefined {
    const { db, deals } = session;
    if (!takeLock(session, patienceMs, durable)) return undefined;
    try {
      tell(deals.refresh());
      const lines = traces.due();
      deals.trace(lines); // What led to a change has lower numbers than what is said of it.
      const result = work();
      deals.commit();
      deals.committed();
      traces.written(lines.length);
      if (++commits % commitsPerLook === 0 && lookAfterLog()) db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      return result;
    } catch (error) {
      deals.rolledBack();
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    } finally {
      if (durable) db.exec('PRAGMA synchronous = NORMAL');
    }
  }

  function tell(changed: readonly string[]): void {
    if (pulse.watched) for (const key of changed) pulse.hint({ type: 'cell-changed', key });
  }

  function run(deal: Deal): Ran {
    const dealt = room.without(deal);
    if (dealt !== undefined) return { dealt, entries: [] };
    try {
      const ran = session.deals.run(deal);
      if (ran.dealt.status === 'done') remember(deal, ran.dealt.totals);
      return ran;
    } catch (error) {
      // A step that throws is a fault of whoever wrote it; a statement that throws is one of the file.
      if (codeOf(error) > 0 || troubleOf(error) === 'damaged') throw error;
      return { dealt: { status: 'away', reason: `a step failed: ${String(error)}` }, entries: [] };
    }
  }

  function remember(deal: Deal, sums: readonly number[]): void {
    made.note(deal.marks);
    deal.sums?.forEach(({ key }, at) => void totals.set(key, sums[at]!));
    if (totals.size > keptDealsMax) totals.delete(totals.keys().next().value!);
  }

  function away(deal: Deal, reason: string): Dealt {
    if (deal.mustArrive !== true) return { status: 'away', reason };
    countHere(deal, views);
    wait(lateOne(deal));
    return { status: 'kept' };
  }

  function wait(one: Waiting): void {
    waiting.push(one);
    if (waiting.length > keptDealsMax) {
      const lost = waiting.shift();
      lost?.done?.({ status: 'away', reason: 'too many deals wait for the store' });
    }
    schedule(0);
  }

  function now(deal: Deal): Ran {
    if (closed) return { dealt: { status: 'away', reason: 'the store is closed' }, entries: [] };
    // The file must not judge what it has not heard all of.
    if (isBehind(deal, views)) return { dealt: away(deal, 'earlier changes of the cell wait'), entries: [] };
    try {
      const ran = transaction(waitMs, touchesCards(deal), () => run(deal));
      if (ran === undefined) return { dealt: away(deal, 'the lock was not free in time'), entries: [] };
      if (waiting.length === 0) recovered();
      if (ran.dealt.status === 'done') arrived([deal], views, () => ran.entries);
      return { ...ran, dealt: room.ended(deal, ran.dealt) };
    } catch (error) {
      failed(error);
      return { dealt: away(deal, sentenceOf(error, 'of this gear')), entries: [] };
    }
  }

  function recovered(): void {
    if (!room.isMissed) pulse.recover('the store answers again');
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
      const durable = group.some(({ deal }) => touchesCards(deal));
      const ran = transaction(patienceMs, durable, () => {
        for (const key of dropped) session.deals.drop(key, session.clock.nowMs());
        return group.map(({ deal }) => run(deal));
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
      const ended = group.map(({ deal }, at) => room.ended(deal, ran[at]!.dealt));
      const entries = new Map<Deal, readonly Entry[] | undefined>();
      group.forEach(({ deal }, at) => {
        const { status } = ended[at]!;
        if (status !== 'kept') entries.set(deal, status === 'done' ? ran[at]!.entries : undefined);
      });
      arrived([...entries.keys()], views, (deal) => entries.get(deal));
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
      if (one.deal.mustArrive === true) {
        countHere(one.deal, views);
        stay.push({ ...one, done: undefined });
        one.done({ status: 'kept' });
      } else one.done({ status: 'away', reason });
      pulse.degrade(reason);
    }
    waiting = stay;
    traces.hold();
  }

  function provisionally({ body, place, atMs }: Note): Entry {
    provisional = Math.max(provisional, session.deals.lastSeq) + 1;
    return { seq: provisional, atMs, wallMs: session.clock.wallMs(), ...place, ...body } as Entry;
  }

  function heal(): void {
    try {
      transaction(lockPatienceMs, true, () => tellFile(session, views, totals, made.standing()));
    } catch (error) {
      session.trouble(error);
    }
  }

  return {
    now,
    soon(deal) {
      if (closed) return Promise.resolve({ status: 'away', reason: 'the store is closed' });
      return new Promise((resolve) => {
        wait({ deal, sinceMs: machineClock.nowMs(), done: resolve });
      });
    },
    record(note) {
      const { entries } = now({ notes: [note], mustArrive: true });
      return entries[0] ?? provisionally(note);
    },
    trace(note) {
      traces.add(note);
      return provisionally(note);
    },
    drop(key) {
      totals.delete(key);
      drops.push(key);
      schedule(0);
    },
    refresh() {
      const changed = session.attempt((deals) => deals.refresh());
      if (changed !== undefined && changed.length > 0) tell(changed);
    },
    flush: () => flushAll(waitMs),
    sweep(retain) {
      try {
        transaction(0, false, () => {
          session.saveTime();
          session.deals.sweep(session.clock.nowMs(), session.clock.wallMs(), retain);
        });
        if (room.isMissed && !session.deals.isFull) waiting = [...room.again().map(lateOne), ...waiting];
        schedule(0);
      } catch (error) {
        failed(error);
      }
    },
    heal,
    settled: () =>
      new Promise((resolve) => {
        const look = () => {
          if (waiting.length + traces.size + drops.length === 0 || closed || pulse.health.state === 'degraded')
            resolve();
          else machineClock.after(1, look, true);
        };
        look();
      }),
    close() {
      if (closed) return;
      flushAll(lockPatienceMs);
      closed = true;
      for (const { done } of waiting) done?.({ status: 'away', reason: 'the store was closed' });
    },
  };
}
