/**
 * The denials control: halts a task whose calls keep being refused. Only a call that ran and succeeded clears the
 * count.
 */

import type { Control, Gauge } from '../control.ts';
import { allow, haltOverLimit } from '../verdict.ts';

/** The refusals of one task. */
export interface DenialsState {
  /** Refused calls in a row, or model turns in which every call was refused. */
  inARow: number;
  /** The current turn, if the host distinguishes turns; null = none yet. */
  turn: string | null;
  /** Whether a call of the current turn was admitted. */
  turnPassed: boolean;
}

/** Creates the denials control. */
export function denials(settings: { readonly maxDenials: number }): Control<DenialsState> {
  return {
    name: 'denials',
    scope: 'task',
    initial: () => ({ inARow: 0, turn: null, turnPassed: false }),
    judge: () => allow, // A refusal is counted when it is made, not predicted.
    apply(state, event) {
      if (event.type === 'action-settled') {
        // A successful model call says nothing about the refused calls.
        if (event.outcome.kind === 'success' && event.permit.action.kind !== 'model') state.inARow = 0;
        return state;
      }
      if (event.type !== 'action-decided') return state;
      const { verdict, action } = event;
      if (verdict.kind === 'wait' || verdict.kind === 'ask') return state;
      const refused = verdict.kind !== 'allow';
      if (action.turnId === undefined) {
        if (refused) state.inARow++;
        return state;
      }
      if (action.turnId !== state.turn) {
        state.turn = action.turnId;
        state.turnPassed = !refused;
        if (refused) state.inARow++;
      } else if (!refused && !state.turnPassed) {
        state.turnPassed = true;
        if (state.inARow > 0) state.inARow--; // One call of the turn passed, so the turn does not count.
      }
      return state;
    },
    check: ({ inARow }) =>
      inARow < settings.maxDenials ? allow : haltOverLimit('denials', 'denial_limit', inARow, settings.maxDenials),
    gauges: (state): readonly Gauge[] => [{ name: 'denials', actual: state.inARow, limit: settings.maxDenials }],
  };
}
