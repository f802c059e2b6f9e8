/** How a store is, told to whoever watches: degraded once, recovered once, and hints in between. */

import type { Health, Hint } from '../../ports/store.ts';

export interface Pulse {
  readonly health: Health;
  degrade(reason: string): void;
  recover(reason: string): void;
  /** Something was lost, and the store goes on: both are said, as soon as whoever found it out is done. */
  alarm(lost: string, goesOn: string): void;
  hint(hint: Hint): void;
  watch(listener: (hint: Hint) => void): () => void;
  readonly watched: boolean;
}

/** Says that a cell could not be read. Its text stays until somebody writes the cell again. */
export function sayUnreadable(pulse: Pulse, key: string, isKnown: boolean): void {
  const lost = `what is stored under ${JSON.stringify(key)} cannot be read, and was not written by Switchgear`;
  const goesOn = isKnown ? 'goes on with what it saw of it before' : 'begins anew: what others counted there is lost';
  pulse.alarm(lost, `this process ${goesOn}, and writes over it`);
}

export function createPulse(): Pulse {
  let health: Health = { state: 'shared', reason: 'the store answers' };
  const listeners = new Set<(hint: Hint) => void>();

  function hint(given: Hint): void {
    for (const listener of listeners) {
      try {
        listener(given);
      } catch {
        // Whoever watches cannot break the store; what it should have seen, the next poll shows it.
      }
    }
  }

  return {
    get health() {
      return health;
    },
    get watched() {
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
    alarm(lost, goesOn) {
      setImmediate(() => {
        hint({ type: 'degraded', reason: lost });
        if (health.state === 'shared') hint({ type: 'recovered', reason: goesOn });
      });
    },
    hint,
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
