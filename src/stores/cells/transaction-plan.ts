/** Plans transactions: runs their updates on the cells without writing, and applies queued ones to the views. */

import type { Card } from '../../core/card.ts';
import type { Entry } from '../../core/event.ts';
import { cellBytesMax, queuedTransactionsMax } from '../../core/limits.ts';
import { ordersKey } from '../../ports/orders.ts';
import { namesPrefix } from '../../ports/process-counters.ts';
import type { CellUpdate, PendingEntry, Transaction, TransactionResult } from '../../ports/store.ts';
import { applyOneMore, nothingPending, recompute, takeState, type View, type Views } from './cell-views.ts';

/** A cell that a plan writes. */
export interface PlannedCell {
  readonly view: View;
  readonly text: string;
  /** The next state if the update returned its own argument; no other code refers to it. */
  readonly state: unknown;
}

/** The cells and entries that a transaction writes. */
export interface Plan {
  readonly cells: readonly PlannedCell[];
  readonly entries: readonly PendingEntry[];
}

/** A rejected transaction. */
export type Rejected = Extract<TransactionResult, { readonly status: 'rejected' }>;

/** Returns the plan of a transaction, or its rejection. `textOf` returns the current text of a cell. */
export function planTransaction(
  transaction: Transaction,
  views: Views,
  textOf: (view: View) => string | undefined,
): Plan | Rejected {
  const planned = new Map<View, PlannedCell>();
  const entries: PendingEntry[] = [];
  for (const { cell, update } of transaction.changes ?? []) {
    const view = views.all.get(cell.key);
    if (view === undefined) return { status: 'rejected', by: 'cell', key: cell.key };
    const before = planned.get(view);
    const state = takeState(views, view, before === undefined ? textOf(view) : before.text);
    const next = update(state);
    if (next === 'keep') continue;
    if (next === 'refuse') return { status: 'rejected', by: 'cell', key: view.cell.key };
    const text = JSON.stringify(next.state);
    if (text.length > cellBytesMax) return { status: 'rejected', by: 'full', key: view.cell.key };
    planned.set(view, { view, text, state: next.state === state ? state : undefined });
    if (next.entries !== undefined) entries.push(...next.entries);
  }
  if (transaction.entries !== undefined) entries.push(...transaction.entries);
  return { cells: [...planned.values()], entries };
}

/** Whether a transaction changes nothing. */
export function isEmptyPlan(plan: Plan, { adds = [], marks = [] }: Transaction): boolean {
  return [plan.cells, plan.entries, adds, marks].every(({ length }) => length === 0);
}

/** The entries of transactions that were applied to the views. */
const entriesHere = new WeakMap<Transaction, readonly PendingEntry[]>();

/** Applies a transaction to the views until the store confirms it. */
export function applyHere(transaction: Transaction, views: Views): void {
  for (const view of findViews(transaction, views)) {
    if (view.pending.has(transaction)) continue;
    if (view.pending === nothingPending) view.pending = new Set();
    view.pending.add(transaction);
    if (view.pending.size > queuedTransactionsMax) view.pending.delete(view.pending.values().next().value!);
    const entries = applyOneMore(view, transaction);
    if (entries.length > 0) entriesHere.set(transaction, [...(entriesHere.get(transaction) ?? []), ...entries]);
  }
}

/** Returns the entries of a transaction as this process applied it. */
export function entriesAppliedHere(transaction: Transaction): readonly PendingEntry[] {
  return [...(entriesHere.get(transaction) ?? []), ...(transaction.entries ?? [])];
}

/** Whether a cell of the transaction has unconfirmed changes; the store needs them to judge it. */
export function hasUnconfirmedChanges({ changes = [] }: Transaction, views: Views): boolean {
  return changes.some(({ cell }) => (views.all.get(cell.key)?.pending.size ?? 0) > 0);
}

/** Removes settled transactions from the views; calls `onCommitted` of those for which `entriesOf` returns entries. */
export function confirmTransactions(
  transactions: readonly Transaction[],
  views: Views,
  entriesOf: (transaction: Transaction) => readonly Entry[] | undefined,
): void {
  const touched = new Set<View>();
  for (const transaction of transactions) {
    for (const { cell } of transaction.changes ?? []) {
      const view = views.all.get(cell.key);
      if (view?.pending.delete(transaction)) touched.add(view);
    }
  }
  for (const view of touched) recompute(view);
  for (const transaction of transactions) {
    const entries = transaction.onCommitted && entriesOf(transaction);
    try {
      if (entries !== undefined) transaction.onCommitted?.(entries);
    } catch {
      // A listener cannot undo a stored transaction.
    }
  }
}

function findViews({ changes = [] }: Transaction, views: Views): ReadonlySet<View> {
  const touchedViews = changes.map(({ cell }) => views.all.get(cell.key));
  return new Set(touchedViews.filter((view) => view !== undefined));
}

/** Whether a transaction takes money or an approval, which a store that lost data grants only after two seconds. */
export function needsGracePeriod(transaction: Transaction): boolean {
  return takesMoney(transaction) || touchesCards(transaction);
}

/** Whether a transaction takes from a limited amount. */
export function takesMoney({ adds }: Transaction): boolean {
  return adds?.some(({ amount, ceiling }) => ceiling !== undefined && amount > 0) === true;
}

/** The key prefix of cards; SQLite writes transactions on cards through to the disk. */
export const cardPrefix = 'card/';

const cardStateRank = { open: 0, answered: 1, expired: 2, used: 3 } as const;

/** Returns the card in the later state (open, answered, expired, used); of equal states the stored one. */
export function laterCard(local: Card | null, stored: Card | null): Card | null {
  if (local === null || stored === null) return local ?? stored;
  return cardStateRank[local.state] > cardStateRank[stored.state] ? local : stored;
}

/** Returns the update that puts a card unless the stored card is in a later state. */
export function putCardUpdate(card: Card): (stored: Card | null) => CellUpdate<Card | null> {
  return (stored) => {
    const isNew = stored === null || (stored.state === 'open' && card.state === 'open');
    return isNew || laterCard(card, stored) === card ? { state: card } : 'keep';
  };
}

/** Whether a cell holds orders, a card or the names of metrics; a full store accepts these. */
export function isForOperators(key: string): boolean {
  return key === ordersKey || key.startsWith(cardPrefix) || key.startsWith(namesPrefix);
}

/** Whether a transaction changes a card. */
export function touchesCards(transaction: Transaction): boolean {
  return transaction.changes?.some(({ cell }) => cell.key.startsWith(cardPrefix)) === true;
}
