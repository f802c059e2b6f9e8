/** What a process sees of a breaker that another one wrote, and what a store is told that forgot it. */

import type { BreakerState } from '../core/controls/breaker/state.ts';
import type { CellOptions } from '../ports/store.ts';

/** What each process counts for itself: they are told, and decide nothing elsewhere. */
const localFields = [
  ...(['streak', 'requests', 'failures', 'successes', 'neutrals', 'refused', 'late', 'inFlight'] as const),
  ...(['running', 'runningAt', 'overdue'] as const),
] as const;

function adopt(view: BreakerState, stored: BreakerState): BreakerState {
  const state: Record<string, unknown> = { ...stored };
  for (const field of localFields) state[field] = view[field];
  return state as unknown as BreakerState;
}

/** Of two memories the one that saw more; of equals the one that blocks longer. */
function join(local: BreakerState, stored: BreakerState): BreakerState {
  if (local.generation !== stored.generation) return local.generation > stored.generation ? local : stored;
  const openUntilMs =
    local.openUntilMs < 0 || stored.openUntilMs < 0 ? -1 : Math.max(local.openUntilMs, stored.openUntilMs);
  const heldAtMs = Math.max(local.heldAtMs, stored.heldAtMs);
  return { ...stored, openUntilMs, heldAtMs, run: Math.max(local.run, stored.run) };
}

export const breakerCell: CellOptions<BreakerState> = { adopt, join };
