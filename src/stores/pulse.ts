/** How a store is, told to whoever watches: degraded once, recovered once, and hints in between. */

import type { Health, Hint } from '../ports/store.ts';

export interface Pulse {
  readonly health: Health;
  degrade(reason: string): void;
  recover(reason: string): void;
  hint(hint: Hint): void;
  watch(listener: (hint: Hint) => void): () => void;
  readonly watched: boolean;
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
    hint,
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
