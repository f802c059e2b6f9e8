/** Tells listeners of a change of phase. They cannot change an outcome: what they throw is a warning and no more. */

import type { BreakerState } from '../core/breaker/state.ts';
import type { BreakerChange } from './breaker-face.ts';

export type Listener = (change: BreakerChange) => void;

const types = { open: 'opened', closed: 'closed', 'half-open': 'half-opened' } as const;

export function tellAll(listeners: readonly Listener[] | undefined, name: string, state: BreakerState): void {
  for (const listener of listeners ?? []) {
    try {
      listener({ type: types[state.phase], name, generation: state.generation, cause: state.cause });
    } catch (error) {
      process.emitWarning(`a listener of the breaker '${name}' threw: ${String(error)}`, 'SwitchgearWarning');
    }
  }
}
