/**
 * The short way of the most frequent deal: one cell that is there and stays, and nothing to be said of it. It is
 * planned, written and read with as little as that takes. Whatever is more goes the long way, and is planned again.
 */

import { cellBytesMax } from '../../core/limits.ts';
import type { Transaction, TransactionResult } from '../../ports/store.ts';
import { keepReusable, takeState, type Views } from '../cells/cell-views.ts';
import { isForOperators, type PlannedCell } from '../cells/transaction-plan.ts';
import type { Link, Reply } from './connection.ts';
import { forgotten, outrun, unanswered } from './replies.ts';
import { expectedOf, type Sender } from './script-arguments.ts';
import { swapScript } from './scripts.ts';
import type { Out } from './unconfirmed.ts';

export interface SwapOptions {
  readonly link: () => Link;
  readonly views: Views;
  readonly sender: Sender;
  /** What is out now. */
  readonly out: Set<Out>;
  /** It is in the store, and nobody else was told. */
  done(transaction: Transaction, key: string, version: number): TransactionResult;
  /** The number under which the next deal is noted. */
  number(): number;
  /** Nobody knows what became of it, or the store forgot. */
  away(transaction: Transaction, counted: boolean, reason: string): TransactionResult;
  /** Somebody was faster: the long way. */
  again(transaction: Transaction, counted: boolean): Promise<TransactionResult>;
}

/** Tries a deal; undefined where it has to go the long way. */
export type Swap = (transaction: Transaction, counted: boolean) => Promise<TransactionResult> | undefined;

export function createSwap(options: SwapOptions): Swap {
  const { views, sender, out } = options;
  const { names, memory } = sender;

  return (transaction, counted) => {
    const cell = planned(transaction, views);
    if (cell === undefined) return undefined;
    const number = options.number();
    const { view, text } = cell;
    const { key, version } = view.cell;
    const name = `c:${key}`;
    const keys = [names.store, names.index, memory.line, names.part(name)] as const;
    const known = [`${number}`, `${version}`, `${memory.version}`] as const;
    const one: Out = { number, parts: [transaction], entries: [] };
    out.add(one);
    const answer = options.link().evaluate(swapScript, ['EVALSHA', swapScript.sha, '4', ...keys, ...known, name, text]);
    return answer.then(
      (reply) => {
        out.delete(one);
        return hear(reply, transaction, counted, cell, version);
      },
      () => {
        out.delete(one);
        return options.away(transaction, counted, unanswered);
      },
    );
  };

  function hear(reply: Reply, transaction: Transaction, counted: boolean, cell: PlannedCell, expected: number) {
    const version = Number(reply[5]);
    if (version > memory.version) memory.version = version;
    if (reply[0] === 'done') {
      memory.setCell(cell.view.cell.key, version, cell.text);
      keepReusable(views, cell);
      return options.done(transaction, cell.view.cell.key, version);
    }
    const hasForgotten = reply[0] !== 'lost' || reply[3] !== memory.born;
    if (hasForgotten || !outrun([cell], [expected], reply.slice(8), version, memory))
      options.link().renew('the store knows less than it was told');
    return hasForgotten ? options.away(transaction, counted, forgotten) : options.again(transaction, counted);
  }
}

function planned({ changes, adds, marks, entries }: Transaction, views: Views): PlannedCell | undefined {
  if (changes?.length !== 1 || adds?.length || marks?.length || entries?.length) return undefined;
  const { cell, update } = changes[0]!;
  const view = views.all.get(cell.key);
  if (view === undefined || view.options.keepMs !== undefined) return undefined;
  if (expectedOf(view) === 0 || isForOperators(cell.key)) return undefined;
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
