/** Fixtures of the tests of shared stores: commit functions, a counter cell, a card and waiting for views. */

import assert from 'node:assert/strict';
import type { Card } from '../core/card.ts';
import type { Cell, CellUpdate, SharedStore, Store, Transaction, TransactionResult } from '../ports/store.ts';

/** A store with the shared part that these tests need. */
export type SharedTestStore = Store & { readonly shared: SharedStore };

/** The state of a counter cell. */
export interface Count {
  count: number;
}

/** Commits a transaction to a store and returns its final result. */
export type CommitFunction = (store: SharedTestStore, transaction: Transaction) => Promise<TransactionResult>;

/** Commits with `commitNow`; commits again with `commit` if that is unavailable. */
export const commitNowFirst: CommitFunction = async ({ shared }, transaction) => {
  const result = shared.commitNow(transaction);
  if (result.status === 'queued') await shared.settled();
  return result.status === 'unavailable' ? shared.commit(transaction) : result;
};
/** Commits with `commit` alone. */
export const commitOnly: CommitFunction = ({ shared }, transaction) => shared.commit(transaction);
/** Both commit functions by the name that test titles use. */
export const commitFunctions: readonly (readonly [string, CommitFunction])[] = [
  ['commitNow', commitNowFirst],
  ['commit', commitOnly],
];

/** Opens a counter cell that starts at 0. */
export const counter = (store: Store, key = 'counter'): Cell<Count> => store.cell(key, () => ({ count: 0 }));
/** Makes a transaction that adds to a counter cell. */
export const incrementBy = (cell: Cell<Count>, by = 1): Transaction => ({
  changes: [{ cell, update: ({ count }: Count): CellUpdate<Count> => ({ state: { count: count + by } }) }],
});

/** An open card that asks for an approval. */
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

/** Refreshes a store until a condition holds; fails after 2,000 attempts. */
export async function waitForView(store: SharedTestStore, isSo: () => boolean): Promise<void> {
  for (let look = 0; look < 2_000; look++) {
    store.shared.refresh();
    if (isSo()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(isSo(), 'the view never showed the change');
}

/** Returns a deterministic random number generator. */
export function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 0x1_0000_0000) * below);
  };
}
