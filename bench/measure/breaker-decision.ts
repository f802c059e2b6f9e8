/** A breaker in a shared store, decided on as the guard does it: look, judge, take, count, settle. */

import type { Action, Outcome } from '../../src/core/action.ts';
import type { BreakerState } from '../../src/core/controls/breaker/state.ts';
import type { Verdict } from '../../src/core/verdict.ts';
import type { SharedBreaker } from '../../src/ports/sharing.ts';
import type { Cell, CellUpdate, Store } from '../../src/ports/store.ts';
import { loadCore, type loadStores } from './library.ts';

export type Stores = Awaited<ReturnType<typeof loadStores>>;
export type SharedStore = ReturnType<Stores['sqliteStore']>;

export const breakerKey = 'breaker/x';

/** One successful call through a closed breaker; false where it is not let through. */
export async function decisionOn(store: SharedStore): Promise<() => boolean> {
  const { breaker, defaultBreaker, initialBreaker, allow } = await loadCore();
  const { shared } = store;
  const cell = store.cell(breakerKey, () => initialBreaker(defaultBreaker), shared.breakers.cell);
  const sharedControl = shared.breakers.bind(breaker(defaultBreaker), cell, defaultBreaker, 'x', () => {});
  return () => callThrough(store, sharedControl, cell, allow, { kind: 'success' });
}

let calls = 0;

/** One call through a shared breaker, as the guard does it; false where it is not let through. */
export function callThrough(
  { shared, clock }: SharedStore,
  sharedControl: SharedBreaker,
  cell: Cell<BreakerState>,
  allow: Verdict,
  outcome: Outcome,
): boolean {
  const holder = cell as { state: BreakerState };
  const atMs = clock.nowMs();
  shared.refresh();
  const action = { id: ++calls, name: 'x' } as unknown as Action;
  if (sharedControl.judge(cell.state, { type: 'action-proposed', atMs, action }, 'self') !== allow) return false;
  const probe = sharedControl.acquireProbe(action, atMs);
  if (typeof probe === 'object') return false;
  holder.state = sharedControl.apply(cell.state, { type: 'action-decided', atMs, action, verdict: allow }, 'self');
  const permit = { action, atMs, generation: cell.state.generation, probe };
  holder.state = sharedControl.apply(
    cell.state,
    { type: 'action-settled', atMs: clock.nowMs(), permit, outcome },
    'self',
  );
  return true;
}

/** A cell with the state of a breaker, and a step that changes it. */
export async function changingCell(store: Store): Promise<{ cell: Cell<BreakerState>; update: typeof oneMore }> {
  const { defaultBreaker, initialBreaker } = await loadCore();
  return { cell: store.cell('breaker/changing', () => initialBreaker(defaultBreaker)), update: oneMore };
}

function oneMore(state: BreakerState): CellUpdate<BreakerState> {
  state.run++;
  return { state };
}
