/** Tells listeners of a change of phase. They cannot change an outcome: what they throw is a warning and no more. */

import type { BreakerState } from '../core/controls/breaker/state.ts';
import type { BreakerChange } from './api.ts';

export type ChangeListener = (change: BreakerChange) => void;

export function notifyListeners(listeners: readonly ChangeListener[], name: string, state: BreakerState): void {
  const { phase } = state;
  const type = phase === 'closed' ? phase : (`${phase}ed` as const);
  for (const listener of listeners) {
    try {
      listener({ type, name, generation: state.generation, cause: state.cause });
    } catch (error) {
      process.emitWarning(`a listener of the breaker '${name}' threw: ${String(error)}`, 'SwitchgearWarning');
    }
  }
}
