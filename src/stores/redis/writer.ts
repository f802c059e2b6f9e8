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
import type { KnownState } from './known-state.ts';
import { createRedisOverflow, type RedisOverflow } from './overflow.ts';
import { createRemovals, type Removals } from './removals.ts';
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
import { createSwap, type Swap } from './swap.ts';
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
  /** Removes a cell, its counter and its window after all earlier transactions of this process on the cell. */
  drop(key: string): void;
  /** Retries transactions that found the store full. */
  retryOverflow(): Promise<void>;
  readonly queued: number;
  /** The number of transactions that found the store full. */
  readonly overflowed: number;
  /** The number of transactions that are not settled. */
  readonly active: number;
  /** The last one of them on each cell: transactions on one cell run in order, so that they do not race. */
  readonly tails: ReadonlyMap<string, unknown>;
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

/** The result, a lost race, a loss of data, or the milliseconds after which to send again. */
type SendAnswer = SendResult | 'again' | 'forgot' | number;

/** A plan as it was sent, with the versions that its cells were expected to have. */
interface SentPlan {
  readonly transaction: Transaction;
  readonly plan: Plan;
  readonly expected: readonly number[];
  readonly wallMs: number;
}

/** The most queued transactions that are delivered at once. */
const batchMax = 100;
/** After four lost races a transaction asks for a turn. */
const turnAfter = 4;
const noEntries: NumberedEntries = { entries: [], lastSeq: 0, wallMs: 0 };

/** Creates the writer of one process. */
export function createRedisWriter(options: RedisWriterOptions): RedisWriter {
  return new TransactionWriter(options);
}

class TransactionWriter implements RedisWriter {
  readonly #options: RedisWriterOptions;
  readonly #views: Views;
  readonly #context: RequestContext;
  readonly #memory: KnownState;
  readonly #unconfirmed = createUnconfirmed();
  readonly #overflow: RedisOverflow;
  readonly #swap: Swap;
  readonly tails = new Map<string, Promise<unknown>>();
  #queued: Transaction[] = [];
  readonly #removals: Removals;
  /** The number of the last transaction. */
  #numbers = 0;
  #active = 0;

  constructor(options: RedisWriterOptions) {
    const { views, context, connection } = options;
    this.#options = options;
    this.#views = views;
    this.#context = context;
    this.#memory = context.memory;
    this.#overflow = createRedisOverflow({
      attempt: (transaction, counted, parts) => this.#attempt(transaction, counted, parts),
      onFullChange: options.full,
    });
    this.#removals = createRemovals({ connection, context, offer: (removal) => this.offer([removal], []) });
    this.#swap = createSwap({
      connection,
      views,
      context,
      inFlight: this.#unconfirmed.inFlight,
      number: () => ++this.#numbers,
      onDone: (transaction, key, version) => {
        options.changed(key, version);
        return this.#settle([transaction], { status: 'committed', totals: [], windowCounts: [] }, noEntries);
      },
      queueOrGiveUp: (transaction, counted, reason) => this.#queueOrGiveUp([transaction], counted, reason),
      retry: (transaction, counted) => this.#attempt(transaction, counted),
    });
  }

  get queued(): number {
    return this.#queued.length;
  }

  get overflowed(): number {
    return this.#overflow.size;
  }

  get active(): number {
    return this.#active;
  }

  commit(transaction: Transaction): Promise<TransactionResult> {
    return this.#commitInTurn(transaction, false);
  }

  commitNow(transaction: Transaction): TransactionResult {
    if (transaction.queueIfUnavailable !== true)
      return { status: 'unavailable', reason: 'the reply of Redis takes longer than this tick' };
    applyHere(transaction, this.#views);
    void this.#commitInTurn(transaction, true);
    return { status: 'queued' };
  }

  connectionLost(): void {
    this.#unconfirmed.connectionLost();
  }

  reconnected(done: ReadonlySet<number>): void {
    // A transaction with `queueIfUnavailable` was queued when the connection was lost.
    for (const transaction of this.#unconfirmed.reconnected(done).flatMap(({ parts }) => parts)) {
      if (transaction.queueIfUnavailable !== true) this.#refund(transaction);
      else if (this.#queued.includes(transaction)) this.#queued.splice(this.#queued.indexOf(transaction), 1);
    }
  }

  viewsCaughtUp(): void {
    for (const { parts, entries } of this.#unconfirmed.viewsCaughtUp()) {
      // The reply with the sequence number was lost; the number is at most this one.
      const numbered = { entries, lastSeq: this.#memory.seq, wallMs: this.#context.wallMs() };
      this.#settle(parts, { status: 'queued' }, numbered);
    }
  }

  async deliver(): Promise<void> {
    for (const key of this.#removals.takeQueued()) this.drop(key);
    const all = this.#queued;
    this.#queued = [];
    this.#active++;
    for (let at = 0; at < all.length; at += batchMax) {
      if (!this.#options.connection().isUp) {
        this.#queued = [...all.slice(at), ...this.#queued];
        break;
      }
      const batch = all.slice(at, at + batchMax);
      const result = await this.#attempt(mergeTransactions(batch), true, batch);
      if (result.status === 'rejected') for (const transaction of batch) await this.#attempt(transaction, true);
    }
    this.#active--;
  }

  async offer(...request: Parameters<typeof makeRestoreRequest>): Promise<string> {
    const [keys, args] = encodeRequest(makeRestoreRequest(...request), ++this.#numbers, this.#context);
    const askedMs = machineClock.nowMs();
    const reply = await this.#options.connection().run(transactionScript, keys, args);
    this.#options.readHead(reply, askedMs);
    return reply[0]!;
  }

  drop(key: string): void {
    const remove = () => this.#removals.remove(key);
    this.#runInTurn([key], this.tails.get(key)?.then(remove) ?? remove());
  }

  retryOverflow(): Promise<void> {
    return this.#overflow.retry();
  }

  /** Runs a transaction after earlier transactions of this process on the same cells. */
  #commitInTurn(transaction: Transaction, counted: boolean): Promise<TransactionResult> {
    const { changes = [] } = transaction;
    const before = changes.flatMap(({ cell }) => this.tails.get(cell.key) ?? []);
    const promise =
      before.length === 0
        ? this.#start(transaction, counted)
        : Promise.all(before).then(() => this.#start(transaction, counted));
    const keys = changes.map(({ cell }) => cell.key);
    this.#removals.forget(keys); // The cells are written again.
    this.#runInTurn(keys, promise);
    return promise;
  }

  /** Lets later transactions on these cells wait for this one. */
  #runInTurn(keys: readonly string[], promise: Promise<unknown>): void {
    this.#active++;
    for (const key of keys) this.tails.set(key, promise);
    void promise.then(() => {
      this.#active--;
      for (const key of keys) if (this.tails.get(key) === promise) this.tails.delete(key);
    });
  }

  /** Uses the fast path if possible; the transaction script trims the list of numbers. */
  #start(transaction: Transaction, counted: boolean): Promise<TransactionResult> {
    const isTrimmed = (this.#numbers + 1) % trimEvery === 0;
    const hasRoom = this.#overflow.size === 0 && this.#unconfirmed.inFlight.size < outMax;
    const isShort = !isTrimmed && this.#options.connection().isUp && hasRoom;
    return (isShort ? this.#swap(transaction, counted) : undefined) ?? this.#attempt(transaction, counted);
  }

  /** Sends a transaction or a merged batch; `counted` = the views already have it. */
  async #attempt(
    transaction: Transaction,
    counted = false,
    parts: readonly Transaction[] = [transaction],
  ): Promise<TransactionResult> {
    let verified = false;
    for (let tries = 1; tries <= transactionTriesMax; tries++) {
      if (!this.#options.connection().isUp) return this.#queueOrGiveUp(parts, counted, 'the store is unavailable');
      const key = this.#overflow.findFullCell(transaction);
      if (key !== undefined) {
        if (transaction.queueIfUnavailable !== true)
          return { status: 'unavailable', reason: 'the store is full, and has no such cell' };
        return this.#handleFull({ status: 'rejected', by: 'full', key }, parts, counted);
      }
      let plan: ReturnType<typeof planTransaction>;
      try {
        plan = planTransaction(transaction, this.#views, (view) => view.text);
      } catch (error) {
        return { status: 'unavailable', reason: `an update failed: ${String(error)}` };
      }
      const rejected = 'status' in plan ? plan : undefined;
      if (rejected?.by === 'full') return this.#handleFull(rejected, parts, counted);
      if (rejected !== undefined && (verified || rejected.by !== 'cell')) return this.#settle(parts, rejected);
      if (rejected === undefined && isEmptyPlan(plan as Plan, transaction)) {
        return this.#settle(parts, { status: 'committed', totals: [], windowCounts: [] });
      }
      const answer =
        rejected === undefined
          ? await this.#send(transaction, parts, plan as Plan, tries)
          : await recheckCells(transaction, this.#options.connection(), this.#memory, this.#context.names);
      if (answer === undefined) return this.#queueOrGiveUp(parts, counted, unanswered);
      if (rejected !== undefined && answer === 'same') verified = true;
      if (typeof answer === 'object') {
        const { result, numbered } = answer;
        const isFull = result.status === 'rejected' && result.by === 'full';
        return isFull ? this.#handleFull(result, parts, counted) : this.#settle(parts, result, numbered);
      }
      if (answer === 'forgot') return this.#queueOrGiveUp(parts, counted, forgotten);
      if (typeof answer === 'number') await sleep(answer);
      else if (tries > 2) await sleep(Math.random() * Math.min(tries, 4));
    }
    return this.#queueOrGiveUp(parts, counted, 'other processes won every race');
  }

  /** Sends a planned transaction; returns undefined if the reply was lost. */
  async #send(
    transaction: Transaction,
    parts: readonly Transaction[],
    plan: Plan,
    tries: number,
  ): Promise<SendAnswer | undefined> {
    while (this.#unconfirmed.inFlight.size >= outMax) await sleep(1);
    const sent: SentTransaction = { number: ++this.#numbers, parts, entries: plan.entries };
    const expected = plan.cells.map(({ view }) => expectedVersion(view));
    const wallMs = this.#context.wallMs();
    const request = makeRequest(transaction, plan, this.#memory.secret, wallMs, tries > turnAfter);
    const [keys, args] = encodeRequest(request, sent.number, this.#context);
    const askedMs = machineClock.nowMs();
    this.#unconfirmed.inFlight.add(sent);
    let reply: Reply;
    try {
      reply = await this.#options.connection().run(transactionScript, keys, args);
    } catch {
      return undefined;
    } finally {
      this.#unconfirmed.inFlight.delete(sent);
    }
    const rest = this.#options.readHead(reply, askedMs);
    return this.#readReply(reply, rest, { transaction, plan, expected, wallMs });
  }

  /** Applies the reply to a planned transaction, whose cells were expected in these versions. */
  #readReply(reply: Reply, rest: readonly string[], sent: SentPlan): SendAnswer {
    const { transaction, plan, expected } = sent;
    switch (reply[0]) {
      case 'done':
        return {
          result: applyCommitted(transaction, plan, rest, this.#memory, this.#views),
          numbered: { entries: plan.entries, lastSeq: Number(reply[6]), wallMs: sent.wallMs },
        };
      case 'lost':
        if (!applyConflict(plan.cells, expected, rest, Number(reply[5]), this.#memory))
          this.#options.connection().renew('the store lost data');
        return 'again';
      case 'sum': {
        const { key } = transaction.adds![Number(rest[0]) - 1]!;
        this.#memory.totals.set(key, Number(rest[1]));
        return { result: { status: 'rejected', by: 'counter', key } };
      }
      case 'mark': {
        const { key } = transaction.marks![Number(rest[0]) - 1]!;
        this.#memory.marks.set(key, { count: Number(rest[1]), oldestMs: Number(rest[2]) });
        return { result: { status: 'rejected', by: 'mark', key } };
      }
      case 'full': {
        const isNew = plan.cells.find((_, at) => expected[at] === 0);
        return { result: { status: 'rejected', by: 'full', key: isNew?.view.cell.key ?? '' } };
      }
      case 'grace':
        return Math.max(1, Number(rest[0]));
      default: // The store lost data, or fenced a connection that was silent for an hour.
        this.#options.connection().renew('the store lost data');
        return 'forgot';
    }
  }

  /** Removes a settled transaction from the views and reports its entries. */
  #settle(parts: readonly Transaction[], result: TransactionResult, numbered?: NumberedEntries): TransactionResult {
    confirmTransactions(parts, this.#views, (part) => numbered && committedEntries(part, parts.length === 1, numbered));
    return result;
  }

  /** Queues the transactions if all of them have `queueIfUnavailable`; otherwise returns 'unavailable'. */
  #queueOrGiveUp(transactions: readonly Transaction[], counted: boolean, reason: string): TransactionResult {
    if (transactions.some(({ queueIfUnavailable }) => queueIfUnavailable !== true))
      return { status: 'unavailable', reason };
    for (const transaction of transactions) {
      if (!counted) applyHere(transaction, this.#views);
      this.#enqueue(transaction);
    }
    return { status: 'queued' };
  }

  /** Handles a full store: queues a transaction with `queueIfUnavailable`; the caller retries the parts of a batch. */
  #handleFull(rejected: Rejected, parts: readonly Transaction[], counted: boolean): TransactionResult {
    const [transaction] = parts;
    if (transaction === undefined || parts.length > 1) return rejected;
    if (transaction.queueIfUnavailable !== true) return this.#settle(parts, rejected);
    if (!counted) applyHere(transaction, this.#views);
    this.#overflow.add(rejected.key, transaction);
    return { status: 'queued' };
  }

  #enqueue(transaction: Transaction): void {
    this.#queued.push(transaction);
    if (this.#queued.length > queuedTransactionsMax) this.#queued.shift();
  }

  /** Returns money that the store granted after the caller had been told 'unavailable'. */
  #refund(transaction: Transaction): void {
    const adds = (transaction.adds ?? []).filter(({ amount }) => amount > 0);
    if (adds.length > 0)
      this.#enqueue({ adds: adds.map(({ key, amount }) => ({ key, amount: -amount })), queueIfUnavailable: true });
  }
}
