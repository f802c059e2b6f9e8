/** Deals over the line: planned on what is known, compared by the server, done again where somebody was faster. */

import { queuedTransactionsMax, transactionTriesMax } from '../../core/limits.ts';
import { machineClock, pause } from '../../platform/machine-clock.ts';
import type { Transaction, TransactionResult } from '../../ports/store.ts';
import type { Views } from '../cells/cell-views.ts';
import {
  applyHere,
  confirmTransactions,
  isEmptyPlan,
  type Plan,
  planTransaction,
  type Rejected,
} from '../cells/transaction-plan.ts';
import { entriesOf, type Numbered, together } from './batch.ts';
import type { Link, Reply } from './connection.ts';
import { lookAgain } from './look.ts';
import { createRoom } from './overflow.ts';
import { carriedOut, forgotten, outrun, unanswered } from './replies.ts';
import { expectedOf, offering, outMax, requestOf, type Sender, trimEvery, written } from './script-arguments.ts';
import { transactionScript } from './scripts.ts';
import { createSwap } from './swap.ts';
import { createLimbo, type Out } from './unconfirmed.ts';

export interface RedisWriter {
  commit(transaction: Transaction): Promise<TransactionResult>;
  commitNow(transaction: Transaction): TransactionResult;
  /** The line is lost: what is out is not known to have happened. */
  lineLost(): void;
  /** The line is back; these numbers of the line before were carried out. */
  lineBack(done: ReadonlySet<number>): void;
  /** The views show what the line before carried out: it counts no more on top of them. */
  caughtUp(): void;
  /** Delivers what was kept. */
  deliver(): Promise<void>;
  /** Writes what is given as it is, whatever was planned: for a store that forgot. */
  offer(...what: Parameters<typeof offering>): Promise<string>;
  /** Tries again what found no room in a store that is full. */
  tryAgain(): Promise<void>;
  readonly kept: number;
  /** Deals that the store has no room for. */
  readonly missed: number;
  readonly active: number;
}

export interface RedisWriterOptions {
  readonly link: () => Link;
  readonly views: Views;
  readonly sender: Sender;
  /** Reads the head of an answer: time, and how far the store is. */
  heard(reply: Reply, askedMs: number): readonly string[];
  /** A cell was written without a word to the other processes. */
  changed(key: string, version: number): void;
  /** The store is full, or has room again. */
  full(isFull: boolean): void;
}

/** What became of a deal, and where its notes went. */
interface Answer {
  readonly result: TransactionResult;
  readonly numbered?: Numbered;
}

/** Kept deals that are delivered at once. */
const batchMax = 100;
/** After so many lost races a deal asks for a turn. */
const turnAfter = 4;
const nothingSaid: Numbered = { entries: [], lastSeq: 0, wallMs: 0 };

export function createRedisWriter(options: RedisWriterOptions): RedisWriter {
  const { views, sender } = options;
  const { memory, names } = sender;
  const limbo = createLimbo();
  const { out } = limbo;
  let kept: Transaction[] = [];
  let numbers = 0;
  /** Deals that are on their way, also those that wait for others. */
  let active = 0;
  /** Deals on one cell go one after the other: this process must not lose races against itself. */
  const tails = new Map<string, Promise<unknown>>();
  const room = createRoom({ attempt, changed: options.full });

  function away(transactions: readonly Transaction[], counted: boolean, reason: string): TransactionResult {
    if (transactions.some(({ queueIfUnavailable }) => queueIfUnavailable !== true))
      return { status: 'unavailable', reason };
    for (const transaction of transactions) {
      if (!counted) applyHere(transaction, views);
      keep(transaction);
    }
    return { status: 'queued' };
  }

  function keep(transaction: Transaction): void {
    kept.push(transaction);
    if (kept.length > queuedTransactionsMax) kept.shift();
  }

  /** There is no room for it. What has happened counts here; the parts of a batch are tried one by one. */
  function noRoom(refused: Rejected, parts: readonly Transaction[], counted: boolean): TransactionResult {
    const [transaction] = parts;
    if (transaction === undefined || parts.length > 1) return refused;
    if (transaction.queueIfUnavailable !== true) return ended(parts, refused);
    if (!counted) applyHere(transaction, views);
    room.miss(refused.key, transaction);
    return { status: 'queued' };
  }

  /** Tries a deal, which may stand for several; `counted` where this process shows it already. */
  async function attempt(
    transaction: Transaction,
    counted = false,
    parts: readonly Transaction[] = [transaction],
  ): Promise<TransactionResult> {
    let verified = false;
    for (let tries = 1; tries <= transactionTriesMax; tries++) {
      if (!options.link().isUp) return away(parts, counted, 'the store is away');
      const key = room.missedBy(transaction);
      if (key !== undefined) {
        if (transaction.queueIfUnavailable !== true)
          return { status: 'unavailable', reason: 'the store is full, and has no such cell' };
        return noRoom({ status: 'rejected', by: 'full', key }, parts, counted);
      }
      let plan: ReturnType<typeof planTransaction>;
      try {
        plan = planTransaction(transaction, views, (view) => view.text);
      } catch (error) {
        return { status: 'unavailable', reason: `a step failed: ${String(error)}` };
      }
      const refused = 'status' in plan ? plan : undefined;
      if (refused?.by === 'full') return noRoom(refused, parts, counted);
      if (refused !== undefined && (verified || refused.by !== 'cell')) return ended(parts, refused);
      if (refused === undefined && isEmptyPlan(plan as Plan, transaction)) {
        return ended(parts, { status: 'committed', totals: [], windowCounts: [] });
      }
      const answer =
        refused === undefined
          ? await send(transaction, parts, plan as Plan, tries)
          : await lookAgain(transaction, options.link(), memory, names);
      if (answer === undefined) return away(parts, counted, unanswered);
      if (refused !== undefined && answer === 'same') verified = true;
      if (typeof answer === 'object') {
        const { result, numbered } = answer;
        const isFull = result.status === 'rejected' && result.by === 'full';
        return isFull ? noRoom(result, parts, counted) : ended(parts, result, numbered);
      }
      if (answer === 'forgot') return away(parts, counted, forgotten);
      if (typeof answer === 'number') await pause(answer);
      else if (tries > 2) await pause(Math.random() * Math.min(tries, 4));
    }
    return away(parts, counted, 'others were always faster');
  }

  /** It was carried out, or never will be: nothing of it is pending any more. */
  function ended(parts: readonly Transaction[], result: TransactionResult, numbered?: Numbered): TransactionResult {
    confirmTransactions(parts, views, (part) => numbered && entriesOf(part, parts.length === 1, numbered));
    return result;
  }

  async function send(
    transaction: Transaction,
    parts: readonly Transaction[],
    plan: Plan,
    tries: number,
  ): Promise<Answer | 'again' | 'forgot' | number | undefined> {
    while (out.size >= outMax) await pause(1);
    const one: Out = { number: ++numbers, parts, entries: plan.entries };
    const expected = plan.cells.map(({ view }) => expectedOf(view));
    const wallMs = sender.wallMs();
    const request = requestOf(transaction, plan, memory.secret, wallMs, tries > turnAfter);
    const [keys, args] = written(request, one.number, sender);
    const askedMs = machineClock.nowMs();
    out.add(one);
    let reply: Reply;
    try {
      reply = await options.link().run(transactionScript, keys, args);
    } catch {
      return undefined;
    } finally {
      out.delete(one);
    }
    const rest = options.heard(reply, askedMs);
    switch (reply[0]) {
      case 'done':
        return {
          result: carriedOut(transaction, plan, rest, memory, views),
          numbered: { entries: plan.entries, lastSeq: Number(reply[6]), wallMs },
        };
      case 'lost':
        if (!outrun(plan.cells, expected, rest, Number(reply[5]), memory))
          options.link().renew('the store knows less of a cell than it was told');
        return 'again';
      case 'sum': {
        const { key } = transaction.adds![Number(rest[0]) - 1]!;
        memory.totals.set(key, Number(rest[1]));
        return { result: { status: 'rejected', by: 'counter', key } };
      }
      case 'mark': {
        const { key } = transaction.marks![Number(rest[0]) - 1]!;
        memory.marks.set(key, { count: Number(rest[1]), oldestMs: Number(rest[2]) });
        return { result: { status: 'rejected', by: 'mark', key } };
      }
      case 'full': {
        const isNew = plan.cells.find((_, at) => expected[at] === 0);
        return { result: { status: 'rejected', by: 'full', key: isNew?.view.cell.key ?? '' } };
      }
      case 'grace':
        return Math.max(1, Number(rest[0]));
      default: // It forgot, or fenced a line that was silent for an hour.
        options.link().renew('the store forgot what it was told');
        return 'forgot';
    }
  }

  const swap = createSwap({
    link: options.link,
    views,
    sender,
    out,
    number: () => ++numbers,
    done(transaction, key, version) {
      options.changed(key, version);
      return ended([transaction], { status: 'committed', totals: [], windowCounts: [] }, nothingSaid);
    },
    away: (transaction, counted, reason) => away([transaction], counted, reason),
    again: attempt,
  });

  /** The short way, where there is one. The list of numbers is cut on the long one. */
  function begin(transaction: Transaction, counted: boolean): Promise<TransactionResult> {
    const isTrimmed = (numbers + 1) % trimEvery === 0;
    const isShort = !isTrimmed && options.link().isUp && room.size === 0 && out.size < outMax;
    return (isShort ? swap(transaction, counted) : undefined) ?? attempt(transaction, counted);
  }

  /** Waits for whoever is at the same cells; then nobody else of this process is. */
  function commitInTurn(transaction: Transaction, counted = false): Promise<TransactionResult> {
    const { changes = [] } = transaction;
    const before = changes.flatMap(({ cell }) => tails.get(cell.key) ?? []);
    const promise =
      before.length === 0 ? begin(transaction, counted) : Promise.all(before).then(() => begin(transaction, counted));
    active++;
    for (const { cell } of changes) tails.set(cell.key, promise);
    void promise.then(() => {
      active--;
      for (const { cell } of changes) if (tails.get(cell.key) === promise) tails.delete(cell.key);
    });
    return promise;
  }

  return {
    commit: (transaction) => commitInTurn(transaction),
    commitNow(transaction) {
      if (transaction.queueIfUnavailable !== true)
        return { status: 'unavailable', reason: 'only Redis can grant it, and that takes a moment' };
      applyHere(transaction, views);
      void commitInTurn(transaction, true);
      return { status: 'queued' };
    },
    lineLost: limbo.lineLost,
    lineBack(done) {
      // What must arrive and did not was kept when its caller was told.
      for (const transaction of limbo.lineBack(done).flatMap(({ parts }) => parts)) {
        if (transaction.queueIfUnavailable !== true) giveBack(transaction);
        else if (kept.includes(transaction)) kept.splice(kept.indexOf(transaction), 1);
      }
    },
    caughtUp() {
      for (const { parts, entries } of limbo.caughtUp()) {
        // The answer with the number was lost: it is not higher than this.
        ended(parts, { status: 'queued' }, { entries, lastSeq: memory.seq, wallMs: sender.wallMs() });
      }
    },
    async deliver() {
      const all = kept;
      kept = [];
      active++;
      for (let at = 0; at < all.length; at += batchMax) {
        if (!options.link().isUp) {
          kept = [...all.slice(at), ...kept];
          break;
        }
        const batch = all.slice(at, at + batchMax);
        const result = await attempt(together(batch), true, batch);
        if (result.status === 'rejected') for (const transaction of batch) await attempt(transaction, true);
      }
      active--;
    },
    async offer(...what) {
      const [keys, args] = written(offering(...what), ++numbers, sender);
      const askedMs = machineClock.nowMs();
      const reply = await options.link().run(transactionScript, keys, args);
      options.heard(reply, askedMs);
      return reply[0]!;
    },
    tryAgain: room.tryAgain,
    get kept() {
      return kept.length;
    },
    get missed() {
      return room.size;
    },
    get active() {
      return active;
    },
  };

  /** It was granted after its caller had been told that it was not: the money goes back. */
  function giveBack(transaction: Transaction): void {
    const adds = (transaction.adds ?? []).filter(({ amount }) => amount > 0);
    if (adds.length > 0)
      keep({ adds: adds.map(({ key, amount }) => ({ key, amount: -amount })), queueIfUnavailable: true });
  }
}
