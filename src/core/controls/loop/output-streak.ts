/** Outputs in a row that are alike, as the seed counts them; what was done between two of them may break the row. */

import type { TextObserved } from '../../event.ts';
import type { LoopSettings } from '../../settings.ts';
import type { LoopState } from './state.ts';

/**
 * Counts an output. A call in between that brought something new, or failed, breaks the row: the words were the same,
 * the deed was not. So does any call after a prompt that was sent again: it did what it was told.
 */
export function countOutput(state: LoopState, event: TextObserved, settings: LoopSettings): void {
  const isAlike = event.similarity >= settings.similarityJaccardThreshold;
  const mayIncludeCalls = settings.rowAcrossCalls && event.asked !== true;
  if (isAlike && state.between <= (mayIncludeCalls ? nothingNew : noCalls)) {
    state.likeness = state.alike === 0 ? event.similarity : Math.min(state.likeness, event.similarity);
    state.alike++;
  } else {
    endStreak(state);
  }
  state.between = noCalls;
}

export function endStreak(state: LoopState): void {
  state.alike = 0;
  state.likeness = 1;
  state.between = noCalls;
}

/** What calls did since the last output. */
const noCalls = 0;
export const nothingNew = 1;
export const somethingNew = 2;
