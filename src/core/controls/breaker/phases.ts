/** The phase changes of a breaker: opening, half-opening and closing, and the length of the wait. */

import { tripTimesMax } from '../../limits.ts';
import type { BreakerSettings } from '../../settings.ts';
import { type BreakerState, emptyList } from './state.ts';
import { clearWindows } from './window.ts';

/** The causes of an opening that has a time of its own: somebody named it. */
export const handTrip = 'a trip by hand';
export const askedToWait = 'the callee asked to wait';

/** Opens the breaker: until `untilMs` where somebody named that time, else for the wait and at least until then. */
export function openBreaker(
  state: BreakerState,
  settings: BreakerSettings,
  atMs: number,
  cause: string,
  untilMs?: number,
): void {
  state.openMs += openForMs(state, atMs);
  const wait = waitMs(state, settings);
  enterPhase(state, 'open');
  state.opens++;
  state.trips++;
  state.tripTimesMs = [...state.tripTimesMs.slice(1 - tripTimesMax), atMs];
  state.openedAtMs = atMs;
  state.cause = cause;
  // An invalid time is ignored: it must not leave the breaker open for ever.
  const requestedMs = Number.isFinite(untilMs) ? untilMs! : 0;
  const isNamed = requestedMs > atMs && (cause === handTrip || cause === askedToWait);
  const endMs = isNamed ? requestedMs : Math.max(atMs + wait, requestedMs);
  state.openUntilMs = settings.recovery === 'manual' ? -1 : endMs;
}

/** Admits probes from now on: the retry time has come, or a health check succeeded. */
export function halfOpenBreaker(state: BreakerState, atMs: number): void {
  state.openMs += openForMs(state, atMs);
  enterPhase(state, 'half-open');
}

/** Closes the breaker after enough successful probes. */
export function closeBreaker(state: BreakerState): void {
  enterPhase(state, 'closed');
  state.opens = 0;
  state.openMs = 0;
  state.cause = '';
}

function enterPhase(state: BreakerState, phase: BreakerState['phase']): void {
  state.phase = phase;
  state.generation++;
  state.run = 0;
  state.runError = 0;
  state.probes = emptyList;
  state.probeSuccesses = 0;
  clearWindows(state);
}

/** How long the current open period has refused calls so far; the time after the retry time does not count. */
export function openForMs(state: BreakerState, atMs: number): number {
  if (state.phase !== 'open') return 0;
  const end = state.openUntilMs < 0 ? atMs : Math.min(atMs, state.openUntilMs);
  return Math.max(0, end - state.openedAtMs);
}

/** The wait of the next opening: multiplied for openings in a row, plus jitter from the seed. */
export function waitMs(state: BreakerState, settings: BreakerSettings): number {
  const grown = settings.recoveryTimeoutSecs * settings.recoveryFactor ** state.opens;
  const capped = Math.min(grown, Math.max(settings.recoveryMaxSecs, settings.recoveryTimeoutSecs)) * 1000;
  return capped * (1 + settings.recoveryJitter * pseudoRandom(settings.jitterSeed, state.generation));
}

/** Returns a pseudo-random number in [0, 1) that depends on the two arguments only. */
function pseudoRandom(seed: number, generation: number): number {
  let mixed = Math.imul(seed ^ Math.imul(generation, 0x9e3779b1), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 0x1_0000_0000;
}

/** Resets the breaker in place. Outcomes of running calls will be late; a manual hold stays. */
export function resetBreaker(state: BreakerState): void {
  closeBreaker(state);
  state.streak = 0;
  state.requests = 0;
  state.failures = 0;
  state.successes = 0;
  state.neutrals = 0;
  state.refused = 0;
  state.late = 0;
  state.trips = 0;
  state.tripTimesMs = emptyList;
  state.openedAtMs = 0;
  state.openUntilMs = 0;
}
