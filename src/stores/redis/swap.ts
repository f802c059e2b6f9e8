/**
 * The short way of the most frequent deal: one cell that is there and stays, and nothing to be said of it. It is
 * planned, written and read with as little as that takes. Whatever is more goes the long way, and is planned again.
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

export interface SwapOptions {
  readonly connection: () => RedisConnection;
  readonly views: Views;
  readonly context: RequestContext;
  /** What is out now. */
  readonly inFlight: Set<SentTransaction>;
  /** It is in the store, and nobody else was told. */
  onDone(transaction: Transaction, key: string, version: number): TransactionResult;
  /** The number under which the next deal is noted. */
  number(): number;
  /** Nobody knows what became of it, or the store forgot. */
  queueOrGiveUp(transaction: Transaction, counted: boolean, reason: string): TransactionResult;
  /** Somebody was faster: the long way. */
  retry(transaction: Transaction, counted: boolean): Promise<TransactionResult>;
}

/** Tries a deal; undefined where it has to go the long way. */
export type Swap = (transaction: Transaction, counted: boolean) => Promise<TransactionResult> | undefined;

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
      options.connection().renew('the store knows less than it was told');
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
    return undefined; // The long way has words for it.
  }
}
