/** Counts alike outputs in a row, as Black Box does; calls between two outputs may end the row. */

import type { TextObserved } from '../../event.ts';
import type { LoopSettings } from '../../settings.ts';
import type { LoopState } from './state.ts';

/**
 * Counts an output. A call in between that brought a new result, or failed, ends the row: the texts are equal, the work
 * is not. After a repeated prompt any call ends the row: the agent did what the prompt asked for.
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
  state.times = event.times ?? 1;
  state.between = noCalls;
}

/** Whether the calls since the last output end a row. */
export function endsRow({ between }: LoopState, mayIncludeCalls: boolean): boolean {
  return between > (mayIncludeCalls ? nothingNew : noCalls);
}

/** Ends the row of alike outputs. */
export function endStreak(state: LoopState): void {
  state.alike = 0;
  state.likeness = 1;
  state.times = 1;
  state.between = noCalls;
}

/** The calls since the last output. */
const noCalls = 0;
export const nothingNew = 1;
export const somethingNew = 2;
