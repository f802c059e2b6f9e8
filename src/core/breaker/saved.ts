/** A breaker written down in remaining durations, so that it can be taken up on another machine, now or later. */

import type { BreakerSettings } from '../settings.ts';
import { type BreakerState, initialBreaker } from './state.ts';

/** Plain JSON. Calls that were out when it was written are not in it: their results are late wherever it is read. */
export interface SavedBreaker {
  readonly format: 1;
  readonly phase: 'closed' | 'open' | 'half-open';
  readonly generation: number;
  readonly run: number;
  readonly opens: number;
  readonly trips: number;
  readonly cause: string;
  readonly held: boolean;
  /** Milliseconds until a probe may pass; -1 = not by time. */
  readonly openForMs: number;
  readonly openSinceMs: number;
  readonly probeSuccesses: number;
}

export function exportBreaker(state: BreakerState, atMs: number): SavedBreaker {
  return {
    format: 1,
    phase: state.phase,
    generation: state.generation,
    run: state.run,
    opens: state.opens,
    trips: state.trips,
    cause: state.cause,
    held: state.heldAtMs >= 0,
    openForMs: state.openUntilMs < 0 ? -1 : Math.max(0, state.openUntilMs - atMs),
    openSinceMs: state.phase === 'open' ? Math.max(0, atMs - state.openedAtMs) : 0,
    probeSuccesses: state.probeSuccesses,
  };
}

/** The state that a saved one stands for. Anything it does not understand is a closed breaker of the same generation. */
export function importBreaker(saved: SavedBreaker, settings: BreakerSettings, atMs: number): BreakerState {
  const state = initialBreaker(settings);
  const whole = (value: unknown) => (Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0);
  state.generation = Math.max(1, whole(saved.generation)) + 1; // Results of the one that was saved are late here.
  if (saved.format !== 1) return state;
  state.run = whole(saved.run);
  state.opens = whole(saved.opens);
  state.trips = whole(saved.trips);
  state.heldAtMs = saved.held === true ? atMs : -1;
  if (saved.phase !== 'open' && saved.phase !== 'half-open') return state;
  state.phase = saved.phase;
  state.cause = String(saved.cause).slice(0, 200);
  state.probeSuccesses = whole(saved.probeSuccesses);
  state.openedAtMs = atMs - whole(saved.openSinceMs);
  state.openUntilMs = saved.openForMs < 0 ? -1 : atMs + Math.max(0, Number(saved.openForMs) || 0);
  return state;
}
