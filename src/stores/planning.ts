/** What a deal means for the cells it names: steps are run, and nothing is written yet. */

import { cellBytesMax } from '../core/limits.ts';
import type { Deal, Dealt, Note } from '../ports/store.ts';
import { showOwn, stateOf, type View, type Views } from './views.ts';

export interface PlannedCell {
  readonly view: View;
  readonly text: string;
  readonly state: unknown;
}

export interface Plan {
  readonly cells: readonly PlannedCell[];
  readonly notes: readonly Note[];
}

export type Refused = Extract<Dealt, { readonly status: 'refused' }>;

/** The texts that cells would have, or who is against it. `textOf` says what each of them is now. */
export function planDeal(deal: Deal, views: Views, textOf: (view: View) => string | undefined): Plan | Refused {
  const planned = new Map<View, PlannedCell>();
  const notes: Note[] = [];
  for (const { cell, step } of deal.changes ?? []) {
    const view = views.all.get(cell.key);
    if (view === undefined) return { status: 'refused', by: 'cell', key: cell.key };
    const before = planned.get(view);
    const state = stateOf(view, before === undefined ? textOf(view) : before.text);
    const next = step(state);
    if (next === 'keep') continue;
    if (next === 'refuse') return { status: 'refused', by: 'cell', key: view.cell.key };
    const text = JSON.stringify(next.state);
    if (text.length > cellBytesMax) return { status: 'refused', by: 'full', key: view.cell.key };
    planned.set(view, { view, text, state: next.state });
    if (next.notes !== undefined) notes.push(...next.notes);
  }
  if (deal.notes !== undefined) notes.push(...deal.notes);
  return { cells: [...planned.values()], notes };
}

/** Counts a deal in this process alone, until the store hears of it. */
export function countHere(deal: Deal, views: Views): void {
  const plan = planDeal(deal, views, (view) => view.own ?? view.text);
  if ('status' in plan) return; // It would have changed nothing: the store will say so, too.
  for (const { view, state, text } of plan.cells) showOwn(view, state, text);
}

/** Whether a deal takes something that a store which just forgot must not give. */
export function isGuarded(deal: Deal): boolean {
  const guarded = deal.sums?.some(({ amount, ceiling }) => ceiling !== undefined && amount > 0) === true;
  return guarded || touchesCards(deal);
}

/** Cards are cells under this prefix; what is said about them is never lost, not even with the power. */
export const cardPrefix = 'card/';

export function touchesCards(deal: Deal): boolean {
  return deal.changes?.some(({ cell }) => cell.key.startsWith(cardPrefix)) === true;
}
