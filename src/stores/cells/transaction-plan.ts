/** What a deal means for the cells it names: steps are run, and nothing is written yet. */

import type { Card } from '../../core/card.ts';
import type { Entry } from '../../core/event.ts';
import { cellBytesMax, queuedTransactionsMax } from '../../core/limits.ts';
import { ordersKey } from '../../ports/orders.ts';
import type { CellUpdate, PendingEntry, Transaction, TransactionResult } from '../../ports/store.ts';
import { applyOneMore, nothingPending, recompute, takeState, type View, type Views } from './cell-views.ts';

export interface PlannedCell {
  readonly view: View;
  readonly text: string;
  /** The state that the step was given, where it comes to that: whoever made the plan has the only one. */
  readonly state: unknown;
}

export interface Plan {
  readonly cells: readonly PlannedCell[];
  readonly entries: readonly PendingEntry[];
}

export type Rejected = Extract<TransactionResult, { readonly status: 'rejected' }>;

/** The texts that cells would have, or who is against it. `textOf` says what each of them is now. */
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

/** Whether a deal comes to nothing at all. */
export function isEmptyPlan(plan: Plan, { adds = [], marks = [] }: Transaction): boolean {
  return [plan.cells, plan.entries, adds, marks].every(({ length }) => length === 0);
}

/** What deals said when they were counted here. */
const entriesHere = new WeakMap<Transaction, readonly PendingEntry[]>();

/** Counts a deal in this process, until the store has heard of it. */
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

/** What a deal that counts here says, as this process sees it. */
export function entriesAppliedHere(transaction: Transaction): readonly PendingEntry[] {
  return [...(entriesHere.get(transaction) ?? []), ...(transaction.entries ?? [])];
}

/** Whether deals that the store has not heard of count on a cell of this one: the store cannot judge it. */
export function hasUnconfirmedChanges({ changes = [] }: Transaction, views: Views): boolean {
  return changes.some(({ cell }) => (views.all.get(cell.key)?.pending.size ?? 0) > 0);
}

/** The store has heard of deals: what it says counts; where they were carried out, whoever made them is told. */
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
      // Whoever listens cannot undo what is stored.
    }
  }
}

function findViews({ changes = [] }: Transaction, views: Views): ReadonlySet<View> {
  const touchedViews = changes.map(({ cell }) => views.all.get(cell.key));
  return new Set(touchedViews.filter((view) => view !== undefined));
}

/** Whether a deal takes something that a store which just forgot must not give. */
export function needsGracePeriod(transaction: Transaction): boolean {
  const guarded = transaction.adds?.some(({ amount, ceiling }) => ceiling !== undefined && amount > 0) === true;
  return guarded || touchesCards(transaction);
}

/** Cards are cells under this prefix; what is said about them is never lost, not even with the power. */
export const cardPrefix = 'card/';

const cardStateRank = { open: 0, answered: 1, expired: 2, used: 3 } as const;

/** Of two cards with one id, the one to which more has happened: the first answer stands, what was used stays used. */
export function laterCard(local: Card | null, stored: Card | null): Card | null {
  if (local === null || stored === null) return local ?? stored;
  return cardStateRank[local.state] > cardStateRank[stored.state] ? local : stored;
}

/** Puts a card, unless more has happened to the one that is there. */
export function putCardUpdate(card: Card): (stored: Card | null) => CellUpdate<Card | null> {
  return (stored) => {
    const isNew = stored === null || (stored.state === 'open' && card.state === 'open');
    return isNew || laterCard(card, stored) === card ? { state: card } : 'keep';
  };
}

/** Whether it is what people say or are asked: a store that is full has room for that. */
export function isForOperators(key: string): boolean {
  return key === ordersKey || key.startsWith(cardPrefix);
}

export function touchesCards(transaction: Transaction): boolean {
  return transaction.changes?.some(({ cell }) => cell.key.startsWith(cardPrefix)) === true;
}
