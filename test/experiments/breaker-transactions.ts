/** A breaker in a store, for experiments: the same pure code that the guard runs, as steps of deals. */

import { flushCompileCache } from 'node:module';
import { recordAdmission, refusalAt } from '../../src/core/controls/breaker/breaker.ts';
import { defaultBreaker } from '../../src/core/controls/breaker/defaults.ts';
import { openBreaker } from '../../src/core/controls/breaker/phases.ts';
import { type BreakerState, initialBreaker } from '../../src/core/controls/breaker/state.ts';
import type { BreakerSettings } from '../../src/core/settings.ts';
import type { Cell, Store, Transaction } from '../../src/ports/store.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';

/** Where the state of an experiment lies. */
export type Where = { readonly path: string } | { readonly url: string; readonly deadlineMs: number };

export async function openStore(where: Where): Promise<SqliteStore> {
  const store =
    'path' in where
      ? sqliteStore({ path: where.path, verify: false, retain: { megabytes: 10_000 } })
      : await redisStore({ url: where.url, deadlineMs: where.deadlineMs, graceMs: 0 });
  flushCompileCache(); // Whoever is killed cannot leave it behind at its end.
  return store;
}

export function settingsOf(permits: number, leaseSecs: number): BreakerSettings {
  return { ...defaultBreaker, halfOpenPermits: permits, leaseSecs, leaseExpiry: 'neutral' };
}

export function breakerCell(store: Store): Cell<BreakerState> {
  return store.cell('breaker/x', () => initialBreaker(defaultBreaker));
}

/** Opens it anew, due at once: a round begins. */
export function roundTransaction(cell: Cell<BreakerState>, settings: BreakerSettings, atMs: number): Transaction {
  const update = (state: BreakerState) => {
    openBreaker(state, settings, atMs, 'a round');
    state.openUntilMs = 0;
    return { state };
  };
  return { changes: [{ cell, update }] };
}

/** Asks for a probe: refused where the breaker says no. */
export function probeTransaction(
  cell: Cell<BreakerState>,
  settings: BreakerSettings,
  id: string,
  nowMs: () => number,
): Transaction {
  const update = (state: BreakerState) => {
    const atMs = nowMs();
    if (refusalAt(state, settings, atMs) !== undefined) return 'refuse';
    recordAdmission(state, settings, id, atMs);
    return { state };
  };
  return { changes: [{ cell, update }] };
}
