/** Breakers as they lie in a store: found by name, told as they are now. */

import type { BreakerState } from '../core/controls/breaker/state.ts';
import type { CrossProcessStore, StoredCell } from '../ports/store.ts';

/** Breakers that one command looks at. */
const breakersMax = 10_000;

export interface StoredBreaker {
  readonly key: string;
  readonly name: string;
  /** Who shares it: `all`, a project, or an agent, session or task in one. */
  readonly scope: string;
  readonly of: string;
  readonly project: string;
  readonly state: 'OPEN' | 'HALF_OPEN' | 'CLOSED';
  readonly held: boolean;
  /** Failures on the way to the next trip, and trips so far. */
  readonly failures: number;
  readonly trips: number;
  readonly cause: string;
  /** When a call is tried again; absent where somebody has to reset it, or nothing blocks. */
  readonly untilMs?: number;
}

export async function readStoredBreakers(store: CrossProcessStore): Promise<readonly StoredBreaker[]> {
  const atMs = store.clock.nowMs();
  const cells = await store.shared.read('breaker/', breakersMax);
  return cells.flatMap((cell) => parseBreaker(cell, atMs));
}

function parseBreaker({ key, state: storedState }: StoredCell, atMs: number): readonly StoredBreaker[] {
  const { phase, run, trips, cause, openUntilMs, heldAtMs } = (storedState ?? {}) as BreakerState;
  const [, project = '', scope = '', ...rest] = key.split('/').map(decodeKeyPart);
  const name = rest.at(-1);
  if (name === undefined || phase === undefined) return []; // Nothing that a gear wrote.
  const isDue = phase === 'open' && openUntilMs >= 0 && openUntilMs <= atMs;
  const isOpen = phase === 'open' && !isDue;
  return [
    {
      key,
      name,
      scope: project === 'shared' ? 'all' : scope === 'tool' ? 'project' : scope,
      of: rest.length > 1 ? rest[0]! : '',
      project: project === 'shared' ? '' : project,
      state: isOpen || heldAtMs >= 0 ? 'OPEN' : phase === 'closed' ? 'CLOSED' : 'HALF_OPEN',
      held: heldAtMs >= 0,
      failures: run,
      trips,
      cause,
      ...(isOpen && heldAtMs < 0 && openUntilMs >= 0 && { untilMs: openUntilMs }),
    },
  ];
}

/** Whether there is anything to tell of a breaker, or to reset. */
export function hasCounted({ state, failures, trips }: StoredBreaker): boolean {
  return state !== 'CLOSED' || failures > 0 || trips > 0;
}

/** A part of a key as it was before; a foreign one as it is. */
export function decodeKeyPart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
