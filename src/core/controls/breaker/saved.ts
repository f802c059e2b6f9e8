/** Exports a breaker as remaining durations and imports it, on another machine or at another time. */

import { countMax, reasonLengthMax } from '../../limits.ts';
import type { BreakerSettings } from '../../settings.ts';
import { type BreakerState, initialBreaker } from './state.ts';
import { loadWindows, type SavedWindows, saveWindows } from './window.ts';

/** A saved breaker as plain JSON, without running calls: their outcomes are late after an import. */
export interface SavedBreaker extends SavedWindows {
  readonly format: 1;
  readonly phase: 'closed' | 'open' | 'half-open';
  readonly generation: number;
  readonly run: number;
  readonly runError: number;
  readonly opens: number;
  readonly trips: number;
  readonly cause: string;
  readonly held: boolean;
  /** Milliseconds until a probe may pass; -1 = manual recovery, without a time. */
  readonly openForMs: number;
  readonly openSinceMs: number;
  readonly openMs: number;
  readonly probeSuccesses: number;
}

/** Exports the state of a breaker. */
export function exportBreaker(state: BreakerState, settings: BreakerSettings, atMs: number): SavedBreaker {
  return {
    format: 1,
    phase: state.phase,
    generation: state.generation,
    run: state.run,
    runError: state.runError,
    opens: state.opens,
    trips: state.trips,
    cause: state.cause,
    held: state.heldAtMs >= 0,
    openForMs: state.openUntilMs < 0 ? -1 : Math.max(0, state.openUntilMs - atMs),
    openSinceMs: state.phase === 'open' ? Math.max(0, atMs - state.openedAtMs) : 0,
    openMs: state.openMs,
    probeSuccesses: state.probeSuccesses,
    ...saveWindows(state, settings, atMs),
  };
}

/** Returns the state of a saved breaker. Unknown content gives a closed breaker of a later generation. */
export function importBreaker(saved: SavedBreaker, settings: BreakerSettings, atMs: number): BreakerState {
  const state = initialBreaker(settings);
  const input: Partial<SavedBreaker> = typeof saved === 'object' && saved !== null ? saved : {};
  const ms = (value: unknown) => (typeof value === 'number' && value > 0 && value < countMax * 1e3 ? value : 0);
  const whole = (value: unknown) => (Number.isSafeInteger(value) ? Math.min(ms(value), countMax) : 0);
  state.generation = Math.max(1, whole(input.generation)) + 1; // Outcomes of calls of the saved breaker are late here.
  if (input.format !== 1) return state;
  state.run = whole(input.run);
  state.runError = Number.isSafeInteger(input.runError) ? input.runError! : 0;
  state.opens = whole(input.opens);
  state.trips = whole(input.trips);
  state.heldAtMs = input.held === true ? Math.max(0, atMs) : -1;
  loadWindows(state, settings, input, atMs);
  if (input.phase !== 'open' && input.phase !== 'half-open') return state;
  state.phase = input.phase;
  state.cause = typeof input.cause === 'string' ? input.cause.slice(0, reasonLengthMax) : '';
  state.probeSuccesses = whole(input.probeSuccesses);
  state.openMs = ms(input.openMs);
  state.openedAtMs = atMs - ms(input.openSinceMs);
  // Whether time alone ends the open phase depends on these settings.
  state.openUntilMs = settings.recovery === 'manual' ? -1 : Math.max(0, atMs + ms(input.openForMs));
  return state;
}
