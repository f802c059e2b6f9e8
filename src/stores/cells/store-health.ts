/** Tracks the health of a store and sends hints to its listeners: each change of health is sent once. */

import type { Card } from '../../core/card.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { StoreHealth, StoreHint } from '../../ports/store.ts';

/** The health of one store, and its listeners. */
export interface HealthMonitor {
  readonly health: StoreHealth;
  degrade(reason: string): void;
  recover(reason: string): void;
  /** Reports a loss of data after which the store continues: sends 'degraded', then 'recovered', in the next tick. */
  reportLoss(lost: string, recovery: string): void;
  hint(hint: StoreHint): void;
  watch(listener: (hint: StoreHint) => void): () => void;
  readonly isWatched: boolean;
  /** Registers a listener for the durations of operations. */
  measure(listener: (operation: string, ms: number) => void): () => void;
  /** Returns the function that reports the end of an operation; undefined if nobody listens. */
  beginOperation(operation: string): (() => void) | undefined;
}

/** Reports a cell that could not be parsed. Its text stays until the next write of the cell. */
export function reportUnreadableCell(monitor: HealthMonitor, key: string, isKnown: boolean): void {
  const lost = `what is stored under ${JSON.stringify(key)} cannot be read, and was not written by Switchgear`;
  const recovery = isKnown
    ? 'continues with the values it last read'
    : 'starts empty: the counts of other processes are lost';
  monitor.reportLoss(lost, `this process ${recovery}, and writes over it`);
}

/** Makes the card of a loss; `id` is equal in all processes that report the same loss. */
export function makeLossCard(id: string, reason: string): Card {
  return {
    id: `card-store-${id}`,
    kind: 'notice',
    task: 'store',
    code: 'notice',
    counters: {},
    evidence: [`the store lost data: ${reason}`],
    actions: ['dismiss'],
    state: 'open',
  };
}

/** Creates a monitor in the state 'shared'. */
export function createHealthMonitor(): HealthMonitor {
  let health: StoreHealth = { state: 'shared', reason: 'the store answers' };
  const listeners = new Set<(hint: StoreHint) => void>();

  const timers = new Set<(operation: string, ms: number) => void>();

  function hint(storeHint: StoreHint): void {
    for (const listener of listeners) {
      try {
        listener(storeHint);
      } catch {
        // A listener cannot break the store.
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
    measure(listener) {
      timers.add(listener);
      return () => void timers.delete(listener);
    },
    beginOperation(operation) {
      if (timers.size === 0) return undefined;
      const beganMs = machineClock.nowMs();
      return () => {
        for (const timer of timers) timer(operation, machineClock.nowMs() - beganMs);
      };
    },
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
