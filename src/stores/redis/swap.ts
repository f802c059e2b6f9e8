/**
 * The fast path of the most frequent transaction: one change of an existing cell without an expiry, counters, marks or
 * entries. All other transactions use the transaction script and are planned again.
 */

import { cellBytesMax } from '../../core/limits.ts';
import type { Transaction, TransactionResult } from '../../ports/store.ts';
import { keepReusable, takeState, type Views } from '../cells/cell-views.ts';
import { isForOperators, type PlannedCell } from '../cells/transaction-plan.ts';
import type { RedisConnection, Reply } from './connection.ts';
import { applyConflict, forgotten, unanswered } from './replies.ts';
import { expectedVersion, type RequestContext } from './script-arguments.ts';
import { swapScript } from './scripts.ts';
import type { SentTransaction } from './unconfirmed.ts';

/** The options of `createSwap`. */
export interface SwapOptions {
  readonly connection: () => RedisConnection;
  readonly views: Views;
  readonly context: RequestContext;
  /** The transactions that were sent and have no reply yet. */
  readonly inFlight: Set<SentTransaction>;
  /** Called when the change is stored; the other processes have no hint of it yet. */
  onDone(transaction: Transaction, key: string, version: number): TransactionResult;
  /** Returns the number of the next transaction. */
  number(): number;
  /** Called if the reply was lost, or the store lost data. */
  queueOrGiveUp(transaction: Transaction, counted: boolean, reason: string): TransactionResult;
  /** Called after a lost race, to use the transaction script. */
  retry(transaction: Transaction, counted: boolean): Promise<TransactionResult>;
}

/** Sends a transaction; returns undefined if it needs the transaction script. */
export type Swap = (transaction: Transaction, counted: boolean) => Promise<TransactionResult> | undefined;

/** Creates the fast path of one writer. */
export function createSwap(options: SwapOptions): Swap {
  const { views, context, inFlight } = options;
  const { names, memory } = context;

  return (transaction, counted) => {
    const cell = planSwap(transaction, views);
    if (cell === undefined) return undefined;
    const number = options.number();
    const { view, text } = cell;
    const { key, version } = view.cell;
    const name = `c:${key}`;
    const keys = [names.store, names.index, memory.line, names.part(name)] as const;
    const numberAndVersions = [`${number}`, `${version}`, `${memory.version}`] as const;
    const sent: SentTransaction = { number, parts: [transaction], entries: [] };
    inFlight.add(sent);
    const answer = options
      .connection()
      .evaluate(swapScript, ['EVALSHA', swapScript.sha, '4', ...keys, ...numberAndVersions, name, text]);
    return answer.then(
      (reply) => {
        inFlight.delete(sent);
        return readReply(reply, transaction, counted, cell, version);
      },
      () => {
        inFlight.delete(sent);
        return options.queueOrGiveUp(transaction, counted, unanswered);
      },
    );
  };

  function readReply(reply: Reply, transaction: Transaction, counted: boolean, cell: PlannedCell, expected: number) {
    const version = Number(reply[5]);
    if (version > memory.version) memory.version = version;
    if (reply[0] === 'done') {
      memory.setCell(cell.view.cell.key, version, cell.text);
      keepReusable(views, cell);
      return options.onDone(transaction, cell.view.cell.key, version);
    }
    const hasForgotten = reply[0] !== 'lost' || reply[3] !== memory.born;
    if (hasForgotten || !applyConflict([cell], [expected], reply.slice(8), version, memory))
      options.connection().renew('the store lost data');
    return hasForgotten ? options.queueOrGiveUp(transaction, counted, forgotten) : options.retry(transaction, counted);
  }
}

function planSwap({ changes, adds, marks, entries }: Transaction, views: Views): PlannedCell | undefined {
  if (changes?.length !== 1 || adds?.length || marks?.length || entries?.length) return undefined;
  const { cell, update } = changes[0]!;
  const view = views.all.get(cell.key);
  if (view === undefined || view.options.keepMs !== undefined) return undefined;
  if (expectedVersion(view) === 0 || isForOperators(cell.key)) return undefined;
  const state = takeState(views, view, view.text);
  try {
    const next = update(state);
    if (typeof next !== 'object' || next.entries?.length) return undefined;
    const text = JSON.stringify(next.state);
    return text.length > cellBytesMax ? undefined : { view, text, state: next.state === state ? state : undefined };
  } catch {
    return undefined; // The transaction script's path reports the error.
  }
}
