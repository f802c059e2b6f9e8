/** What stories about shared stores are told with: the two doors, a counter in a cell, and patience. */

import assert from 'node:assert/strict';
import type { Card } from '../core/card.ts';
import type { Cell, CellUpdate, SharedStore, Store, Transaction, TransactionResult } from '../ports/store.ts';

export type SharedTestStore = Store & { readonly shared: SharedStore };
export interface Count {
  count: number;
}
export type CommitFunction = (store: SharedTestStore, transaction: Transaction) => Promise<TransactionResult>;

/** Through the synchronous door; where it cannot decide by itself, through the other. */
export const commitNowFirst: CommitFunction = async ({ shared }, transaction) => {
  const result = shared.commitNow(transaction);
  if (result.status === 'queued') await shared.settled();
  return result.status === 'unavailable' ? shared.commit(transaction) : result;
};
export const commitOnly: CommitFunction = ({ shared }, transaction) => shared.commit(transaction);
export const commitFunctions: readonly (readonly [string, CommitFunction])[] = [
  ['commitNow', commitNowFirst],
  ['commit', commitOnly],
];

export const counter = (store: Store, key = 'counter'): Cell<Count> => store.cell(key, () => ({ count: 0 }));
export const incrementBy = (cell: Cell<Count>, by = 1): Transaction => ({
  changes: [{ cell, update: ({ count }: Count): CellUpdate<Count> => ({ state: { count: count + by } }) }],
});

export const askCard: Card = {
  id: 'ask-1',
  kind: 'ask',
  task: 't',
  code: 'rule_unanswered',
  counters: {},
  evidence: [],
  actions: ['approve', 'decline'],
  state: 'open',
};

/** Waits until a view shows something: at once on one machine, soon over a network. */
export async function waitForView(store: SharedTestStore, isSo: () => boolean): Promise<void> {
  for (let look = 0; look < 2_000; look++) {
    store.shared.refresh();
    if (isSo()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(isSo(), 'the view never showed it');
}

export function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 0x1_0000_0000) * below);
  };
}
