/** Holds the breakers of a tool open until somebody releases them, in every process on a store. */

import { withOrder, withoutTarget } from '../coordination/operator-orders.ts';
import { SwitchgearError } from '../core/error.ts';
import { storeBatchMax } from '../core/limits.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import type { StoredBreaker } from './board/answers.ts';
import { makeBreakerChange, readStoredBreakers } from './breakers.ts';
import { commitOrder, type OrderRequest } from './orders.ts';

/** A tool whose breakers are held or released. */
export interface HoldRequest extends OrderRequest {
  readonly target: string;
}

/** What a hold and a release need of the person who gives them. */
export const effectsOfHolds = { hold: 'tighten', release: 'loosen' } as const;

/** Holds the stored breakers of a tool, and by an order those that a process creates later. */
export async function holdBreakers(
  store: CrossProcessStore,
  { target, reason, by, from }: HoldRequest,
): Promise<readonly StoredBreaker[]> {
  const atMs = store.clock.nowMs();
  const breakers = (await readStoredBreakers(store)).filter(({ name, held }) => name === target && !held);
  await commitOrder(
    store,
    { type: 'order-given', order: 'hold', target, reason, by, ...(from && { from }) },
    (orders) => ({ ...orders, holds: withOrder(orders.holds ?? [], { target, atMs, reason }) }),
    // The order reaches the others at their next call.
    makeHoldChanges(store, breakers, atMs, 'breaker-held').slice(0, storeBatchMax),
  );
  return breakers;
}

/** Releases the breakers of a tool, also those that a program holds; throws `not_found` if none is held. */
export async function releaseBreakers(
  store: CrossProcessStore,
  { target, reason, by, from }: HoldRequest,
): Promise<readonly StoredBreaker[]> {
  const atMs = store.clock.nowMs();
  const breakers = (await readStoredBreakers(store)).filter(({ name, held }) => name === target && held);
  const isSent = await commitOrder(
    store,
    { type: 'order-given', order: 'release', target, reason, by, ...(from && { from }) },
    (orders) => {
      const { holds = [], ...rest } = orders;
      const left = withoutTarget(holds, target);
      if (left.length === holds.length && breakers.length === 0) return undefined;
      return left.length === 0 ? rest : { ...rest, holds: left };
    },
  );
  if (!isSent)
    throw new SwitchgearError('not_found', `nothing to release: no breaker of ${JSON.stringify(target)} is held`);
  const changes = makeHoldChanges(store, breakers, atMs, 'breaker-released');
  for (let at = 0; at < changes.length; at += storeBatchMax) {
    await commitOrder(store, undefined, () => undefined, changes.slice(at, at + storeBatchMax));
  }
  return breakers;
}

function makeHoldChanges(
  store: CrossProcessStore,
  breakers: readonly StoredBreaker[],
  atMs: number,
  type: 'breaker-held' | 'breaker-released',
) {
  return breakers.map(({ key, name }) =>
    makeBreakerChange(store, key, atMs, (state) => {
      state.heldAtMs = type === 'breaker-held' ? Math.max(0, atMs) : -1;
      return { type, key, name, generation: state.generation };
    }),
  );
}
