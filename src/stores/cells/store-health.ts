/** How a store is, told to whoever watches: degraded once, recovered once, and hints in between. */

import type { StoreHealth, StoreHint } from '../../ports/store.ts';

export interface HealthMonitor {
  readonly health: StoreHealth;
  degrade(reason: string): void;
  recover(reason: string): void;
  /** Something was lost, and the store goes on: both are said, as soon as whoever found it out is done. */
  reportLoss(lost: string, recovery: string): void;
  hint(hint: StoreHint): void;
  watch(listener: (hint: StoreHint) => void): () => void;
  readonly isWatched: boolean;
}

/** Says that a cell could not be read. Its text stays until somebody writes the cell again. */
export function reportUnreadableCell(monitor: HealthMonitor, key: string, isKnown: boolean): void {
  const lost = `what is stored under ${JSON.stringify(key)} cannot be read, and was not written by Switchgear`;
  const recovery = isKnown ? 'goes on with what it saw of it before' : 'begins anew: what others counted there is lost';
  monitor.reportLoss(lost, `this process ${recovery}, and writes over it`);
}

export function createHealthMonitor(): HealthMonitor {
  let health: StoreHealth = { state: 'shared', reason: 'the store answers' };
  const listeners = new Set<(hint: StoreHint) => void>();

  function hint(storeHint: StoreHint): void {
    for (const listener of listeners) {
      try {
        listener(storeHint);
      } catch {
        // Whoever watches cannot break the store; what it should have seen, the next poll shows it.
      }
    }
  }

  return {
    get health() {
      return health;
    },
    get isWatched() {
      return listeners.size > 0;
    },
    degrade(reason) {
      const was = health.state;
      health = { state: 'degraded', reason };
      if (was !== 'degraded') hint({ type: 'degraded', reason });
    },
    recover(reason) {
      if (health.state === 'shared') return;
      health = { state: 'shared', reason };
      hint({ type: 'recovered', reason });
    },
    reportLoss(lost, recovery) {
      setImmediate(() => {
        hint({ type: 'degraded', reason: lost });
        if (health.state === 'shared') hint({ type: 'recovered', reason: recovery });
      });
    },
    hint,
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
