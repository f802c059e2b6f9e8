/** Commits transactions to Redis: plans on known state, lets the server compare versions, and retries lost races. */

import { queuedTransactionsMax, transactionTriesMax } from '../../core/limits.ts';
import { machineClock, sleep } from '../../platform/machine-clock.ts';
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
import { committedEntries, mergeTransactions, type NumberedEntries } from './batch.ts';
import type { RedisConnection, Reply } from './connection.ts';
import { createRedisOverflow } from './overflow.ts';
import { applyCommitted, applyConflict, forgotten, unanswered } from './replies.ts';
import { recheckCells } from './restore.ts';
import {
  encodeRequest,
  expectedVersion,
  makeRequest,
  makeRestoreRequest,
  outMax,
  type RequestContext,
  trimEvery,
} from './script-arguments.ts';
import { transactionScript } from './scripts.ts';
import { createSwap } from './swap.ts';
import { createUnconfirmed, type SentTransaction } from './unconfirmed.ts';

/** Writes the transactions of one process. */
export interface RedisWriter {
  commit(transaction: Transaction): Promise<TransactionResult>;
  commitNow(transaction: Transaction): TransactionResult;
  /** Called when the connection is lost; transactions in flight become unconfirmed. */
  connectionLost(): void;
  /** Called when the connection is back, with the numbers that the store executed on the previous connection. */
  reconnected(done: ReadonlySet<number>): void;
  /** Called when the views have the transactions of the previous connection; these are no longer pending. */
  viewsCaughtUp(): void;
  /** Delivers queued transactions. */
  deliver(): Promise<void>;
  /** Writes known cells, counters and marks into a store that lost data. */
  offer(...request: Parameters<typeof makeRestoreRequest>): Promise<string>;
  /** Retries transactions that found the store full. */
  retryOverflow(): Promise<void>;
  readonly queued: number;
  /** The number of transactions that found the store full. */
  readonly overflowed: number;
  readonly active: number;
}

/** The options of `createRedisWriter`. */
export interface RedisWriterOptions {
  readonly connection: () => RedisConnection;
  readonly views: Views;
  readonly context: RequestContext;
  /** Reads time and versions from the head of a reply; returns the rest. */
  readHead(reply: Reply, askedMs: number): readonly string[];
  /** Called when a cell was written without a hint to the other processes. */
  changed(key: string, version: number): void;
  /** Called when the store becomes full, or has room again. */
  full(isFull: boolean): void;
}

/** The result of a transaction, and the numbers of its entries. */
interface SendResult {
  readonly result: TransactionResult;
  readonly numbered?: NumberedEntries;
}

/** The most queued transactions that are delivered at once. */
const batchMax = 100;
/** After four lost races a transaction asks for a turn. */
const turnAfter = 4;
const noEntries: NumberedEntries = { entries: [], lastSeq: 0, wallMs: 0 };

/** Creates the writer of one process. */
export function createRedisWriter(options: RedisWriterOptions): RedisWriter {
  const { views, context } = options;
  const { memory, names } = context;
  const unconfirmed = createUnconfirmed();
  const { inFlight } = unconfirmed;
  let queued: Transaction[] = [];
  let numbers = 0;
  /** The number of transactions that are not settled. */
  let active = 0;
  /** The last transaction on each cell: transactions on one cell run in order, so that they do not race. */
  const tails = new Map<string, Promise<unknown>>();
  const overflow = createRedisOverflow({ attempt, onFullChange: options.full });

  function queueOrGiveUp(transactions: readonly Transaction[], counted: boolean, reason: string): TransactionResult {
    if (transactions.some(({ queueIfUnavailable }) => queueIfUnavailable !== true))
      return { status: 'unavailable', reason };
    for (const transaction of transactions) {
      if (!counted) applyHere(transaction, views);
      enqueue(transaction);
    }
    return { status: 'queued' };
  }

  function enqueue(transaction: Transaction): void {
    queued.push(transaction);
    if (queued.length > queuedTransactionsMax) queued.shift();
  }

  /** Handles a full store: queues a transaction with `queueIfUnavailable`; the caller retries the parts of a batch. */
  function handleFull(rejected: Rejected, parts: readonly Transaction[], counted: boolean): TransactionResult {
    const [transaction] = parts;
    if (transaction === undefined || parts.length > 1) return rejected;
    if (transaction.queueIfUnavailable !== true) return settle(parts, rejected);
    if (!counted) applyHere(transaction, views);
    overflow.add(rejected.key, transaction);
    return { status: 'queued' };
  }

  /** Sends a transaction or a merged batch; `counted` = the views already have it. */
  async function attempt(
    transaction: Transaction,
    counted = false,
    parts: readonly Transaction[] = [transaction],
  ): Promise<TransactionResult> {
    let verified = false;
    for (let tries = 1; tries <= transactionTriesMax; tries++) {
      if (!options.connection().isUp) return queueOrGiveUp(parts, counted, 'the store is unavailable');
      const key = overflow.findFullCell(transaction);
      if (key !== undefined) {
        if (transaction.queueIfUnavailable !== true)
          return { status: 'unavailable', reason: 'the store is full, and has no such cell' };
        return handleFull({ status: 'rejected', by: 'full', key }, parts, counted);
      }
      let plan: ReturnType<typeof planTransaction>;
      try {
        plan = planTransaction(transaction, views, (view) => view.text);
      } catch (error) {
        return { status: 'unavailable', reason: `an update failed: ${String(error)}` };
      }
      const rejected = 'status' in plan ? plan : undefined;
      if (rejected?.by === 'full') return handleFull(rejected, parts, counted);
      if (rejected !== undefined && (verified || rejected.by !== 'cell')) return settle(parts, rejected);
      if (rejected === undefined && isEmptyPlan(plan as Plan, transaction)) {
        return settle(parts, { status: 'committed', totals: [], windowCounts: [] });
      }
      const answer =
        rejected === undefined
          ? await send(transaction, parts, plan as Plan, tries)
          : await recheckCells(transaction, options.connection(), memory, names);
      if (answer === undefined) return queueOrGiveUp(parts, counted, unanswered);
      if (rejected !== undefined && answer === 'same') verified = true;
      if (typeof answer === 'object') {
        const { result, numbered } = answer;
        const isFull = result.status === 'rejected' && result.by === 'full';
        return isFull ? handleFull(result, parts, counted) : settle(parts, result, numbered);
      }
      if (answer === 'forgot') return queueOrGiveUp(parts, counted, forgotten);
      if (typeof answer === 'number') await sleep(answer);
      else if (tries > 2) await sleep(Math.random() * Math.min(tries, 4));
    }
    return queueOrGiveUp(parts, counted, 'other processes won every race');
  }

  /** Removes a settled transaction from the views and reports its entries. */
  function settle(
    parts: readonly Transaction[],
    result: TransactionResult,
    numbered?: NumberedEntries,
  ): TransactionResult {
    confirmTransactions(parts, views, (part) => numbered && committedEntries(part, parts.length === 1, numbered));
    return result;
  }

  async function send(
    transaction: Transaction,
    parts: readonly Transaction[],
    plan: Plan,
    tries: number,
  ): Promise<SendResult | 'again' | 'forgot' | number | undefined> {
    while (inFlight.size >= outMax) await sleep(1);
    const sent: SentTransaction = { number: ++numbers, parts, entries: plan.entries };
    const expected = plan.cells.map(({ view }) => expectedVersion(view));
    const wallMs = context.wallMs();
    const request = makeRequest(transaction, plan, memory.secret, wallMs, tries > turnAfter);
    const [keys, args] = encodeRequest(request, sent.number, context);
    const askedMs = machineClock.nowMs();
    inFlight.add(sent);
    let reply: Reply;
    try {
      reply = await options.connection().run(transactionScript, keys, args);
    } catch {
      return undefined;
    } finally {
      inFlight.delete(sent);
    }
    const rest = options.readHead(reply, askedMs);
    switch (reply[0]) {
      case 'done':
        return {
          result: applyCommitted(transaction, plan, rest, memory, views),
          numbered: { entries: plan.entries, lastSeq: Number(reply[6]), wallMs },
        };
      case 'lost':
        if (!applyConflict(plan.cells, expected, rest, Number(reply[5]), memory))
          options.connection().renew('the store lost data');
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
      default: // The store lost data, or fenced a connection that was silent for an hour.
        options.connection().renew('the store lost data');
        return 'forgot';
    }
  }

  const swap = createSwap({
    connection: options.connection,
    views,
    context,
    inFlight,
    number: () => ++numbers,
    onDone(transaction, key, version) {
      options.changed(key, version);
      return settle([transaction], { status: 'committed', totals: [], windowCounts: [] }, noEntries);
    },
    queueOrGiveUp: (transaction, counted, reason) => queueOrGiveUp([transaction], counted, reason),
    retry: attempt,
  });

  /** Uses the fast path if possible; the transaction script trims the list of numbers. */
  function start(transaction: Transaction, counted: boolean): Promise<TransactionResult> {
    const isTrimmed = (numbers + 1) % trimEvery === 0;
    const isShort = !isTrimmed && options.connection().isUp && overflow.size === 0 && inFlight.size < outMax;
    return (isShort ? swap(transaction, counted) : undefined) ?? attempt(transaction, counted);
  }

  /** Runs a transaction after earlier transactions of this process on the same cells. */
  function commitInTurn(transaction: Transaction, counted = false): Promise<TransactionResult> {
    const { changes = [] } = transaction;
    const before = changes.flatMap(({ cell }) => tails.get(cell.key) ?? []);
    const promise =
      before.length === 0 ? start(transaction, counted) : Promise.all(before).then(() => start(transaction, counted));
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
        return { status: 'unavailable', reason: 'the reply of Redis takes longer than this tick' };
      applyHere(transaction, views);
      void commitInTurn(transaction, true);
      return { status: 'queued' };
    },
    connectionLost: unconfirmed.connectionLost,
    reconnected(done) {
      // A transaction with `queueIfUnavailable` was queued when the connection was lost.
      for (const transaction of unconfirmed.reconnected(done).flatMap(({ parts }) => parts)) {
        if (transaction.queueIfUnavailable !== true) refund(transaction);
        else if (queued.includes(transaction)) queued.splice(queued.indexOf(transaction), 1);
      }
    },
    viewsCaughtUp() {
      for (const { parts, entries } of unconfirmed.viewsCaughtUp()) {
        // The reply with the sequence number was lost; the number is at most this one.
        settle(parts, { status: 'queued' }, { entries, lastSeq: memory.seq, wallMs: context.wallMs() });
      }
    },
    async deliver() {
      const all = queued;
      queued = [];
      active++;
      for (let at = 0; at < all.length; at += batchMax) {
        if (!options.connection().isUp) {
          queued = [...all.slice(at), ...queued];
          break;
        }
        const batch = all.slice(at, at + batchMax);
        const result = await attempt(mergeTransactions(batch), true, batch);
        if (result.status === 'rejected') for (const transaction of batch) await attempt(transaction, true);
      }
      active--;
    },
    async offer(...request) {
      const [keys, args] = encodeRequest(makeRestoreRequest(...request), ++numbers, context);
      const askedMs = machineClock.nowMs();
      const reply = await options.connection().run(transactionScript, keys, args);
      options.readHead(reply, askedMs);
      return reply[0]!;
    },
    retryOverflow: overflow.retry,
    get queued() {
      return queued.length;
    },
    get overflowed() {
      return overflow.size;
    },
    get active() {
      return active;
    },
  };

  /** Returns money that the store granted after the caller had been told 'unavailable'. */
  function refund(transaction: Transaction): void {
    const adds = (transaction.adds ?? []).filter(({ amount }) => amount > 0);
    if (adds.length > 0)
      enqueue({ adds: adds.map(({ key, amount }) => ({ key, amount: -amount })), queueIfUnavailable: true });
  }
}
