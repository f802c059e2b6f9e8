/** Defines how a shared breaker cell is adopted into a local view and joined into a store that lost it. */

import type { BreakerState } from '../core/controls/breaker/state.ts';
import type { CellOptions } from '../ports/store.ts';

/** Returns the stored state with the counts that each process keeps for itself; no other process decides on them. */
function adopt(view: BreakerState, stored: BreakerState): BreakerState {
  const { streak, requests, failures, successes, neutrals, refused, late, inFlight } = view;
  const { running, runningAt, overdue } = view;
  const counts = { streak, requests, failures, successes, neutrals, refused, late, inFlight };
  return { ...stored, ...counts, running, runningAt, overdue };
}

/** Returns the state with the higher generation; of equal generations, the later end of the open phase. */
function join(local: BreakerState, stored: BreakerState): BreakerState {
  if (local.generation !== stored.generation) return local.generation > stored.generation ? local : stored;
  const openUntilMs =
    local.openUntilMs < 0 || stored.openUntilMs < 0 ? -1 : Math.max(local.openUntilMs, stored.openUntilMs);
  const heldAtMs = Math.max(local.heldAtMs, stored.heldAtMs);
  return { ...stored, openUntilMs, heldAtMs, run: Math.max(local.run, stored.run) };
}

/** The options of every shared breaker cell. */
export const breakerCell: CellOptions<BreakerState> = { adopt, join };
