/** Reads, trips and resets the breakers of a store. */

import { openSettingsUntil, withOrder, withoutTarget } from '../coordination/operator-orders.ts';
import { rateSums } from '../core/controls/breaker/breaker.ts';
import { defaultBreaker } from '../core/controls/breaker/defaults.ts';
import { breakerMetrics } from '../core/controls/breaker/metrics.ts';
import { handTrip, openBreaker, resetBreaker } from '../core/controls/breaker/phases.ts';
import { type BreakerState, initialBreaker } from '../core/controls/breaker/state.ts';
import { SwitchgearError } from '../core/error.ts';
import type { EntryBody } from '../core/event.ts';
import { storeBatchMax } from '../core/limits.ts';
import { describeFailedCall } from '../core/messages/entry-words.ts';
import type { BreakerSettings } from '../core/settings.ts';
import type { Change, CrossProcessStore, StoredCell } from '../ports/store.ts';
import type { StoredBreaker } from './board/answers.ts';
import { readNewestIfPossible } from './journal.ts';
import { commitOrder, type OrderRequest } from './orders.ts';

/** The most breakers that one call reads. */
const breakersMax = 10_000;

/** Reads all breakers of a store, at most 10,000. */
export async function readStoredBreakers(store: CrossProcessStore): Promise<readonly StoredBreaker[]> {
  const atMs = store.clock.nowMs();
  const cells = await store.shared.read('breaker/', breakersMax);
  return cells.flatMap((cell) => parseBreaker(cell, atMs));
}

function parseBreaker({ key, state: storedState }: StoredCell, atMs: number): readonly StoredBreaker[] {
  const breaker = (storedState ?? {}) as BreakerState;
  const { phase, run, streak, trips, cause, openUntilMs, heldAtMs, generation, probes = [] } = breaker;
  const { probeSuccesses = 0 } = breaker;
  const [, project = '', scope = '', ...rest] = key.split('/').map(decodeKeyPart);
  const name = rest.at(-1);
  if (name === undefined || phase === undefined) return []; // A cell of another kind.
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
      inARow: streak,
      trips,
      cause,
      generation,
      ...readWindowMetrics(breaker, atMs),
      ...(isOpen && heldAtMs < 0 && openUntilMs >= 0 && { untilMs: openUntilMs }),
      ...(heldAtMs >= 0 ? { sinceMs: heldAtMs } : phase !== 'closed' && { sinceMs: breaker.openedAtMs }),
      probes: { inFlight: probes.filter(({ endMs }) => endMs > atMs).length, succeeded: probeSuccesses },
    },
  ];
}

/** Adds the last errors of breakers that are not at rest, as far as the newest entries of the journal have them. */
export async function withLastErrors(
  store: CrossProcessStore,
  breakers: readonly StoredBreaker[],
): Promise<readonly StoredBreaker[]> {
  if (!breakers.some(hasFailed)) return breakers;
  const errors = new Map<string, string>();
  for (const entry of await readNewestIfPossible(store.shared, lastErrorEntriesMax))
    if (entry.type === 'failure-counted') errors.set(entry.name, describeFailedCall(entry));
  return breakers.map((breaker) => {
    const lastError = hasFailed(breaker) ? errors.get(breaker.name) : undefined;
    return lastError === undefined ? breaker : { ...breaker, lastError };
  });
}

/** The newest entries of the journal that are searched for errors. */
const lastErrorEntriesMax = 2_000;

function hasFailed({ state, failures }: StoredBreaker): boolean {
  return state !== 'CLOSED' || failures > 0;
}

/** The metrics of a stored breaker; the store does not have its settings, so the default window is assumed. */
function readWindowMetrics(state: BreakerState, atMs: number) {
  const settings = { ...defaultBreaker, rateWindow: state.buckets === null ? 'calls' : 'time' } as const;
  const metrics = breakerMetrics(state, settings, noAlerts, atMs);
  const { failure_rate: failureRate, trips_per_hour: tripsPerHour, time_in_open_state: openMs } = metrics;
  const isRate = failureRate !== undefined && failureRate >= 0 && failureRate <= 1;
  const { calls, failures } = rateSums(state, settings, atMs);
  const isWindow = failures >= 0 && failures <= calls;
  return {
    tripsPerHour,
    openMs: Math.round(openMs),
    ...(isRate && { failureRate }),
    ...(isWindow && { windowCalls: calls, windowFailures: failures }),
  };
}

const noAlerts = { tripsPerHour: Infinity, failureRate: 1, timeInOpenSecs: Infinity } as const;

const stateRanks = { OPEN: 0, HALF_OPEN: 1, CLOSED: 2 } as const;

/** Orders breakers: open ones first, then by name. */
export function compareBreakers(left: StoredBreaker, right: StoredBreaker): number {
  const byState = stateRanks[left.state] - stateRanks[right.state];
  return byState || (left.name === right.name ? 0 : left.name < right.name ? -1 : 1);
}

/** Whether a breaker differs from a new one, so that a reset changes it. */
export function hasCounted({ state, failures, trips }: StoredBreaker): boolean {
  return state !== 'CLOSED' || failures > 0 || trips > 0;
}

/** Decodes a part of a cell key; returns a part that is not encoded unchanged. */
export function decodeKeyPart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A tool to trip, with the settings that say for how long. */
export interface TripRequest extends OrderRequest {
  readonly target: string;
  readonly settings: BreakerSettings;
}

/** The breakers that a trip opened. */
export interface TripResult {
  readonly breakers: readonly StoredBreaker[];
  readonly atMs: number;
  /** The end of the trip; absent if only a reset ends it. */
  readonly untilMs?: number;
}

/** Opens the stored breakers of a tool, and by an order those that a process creates later. */
export async function tripBreakers(
  store: CrossProcessStore,
  { target, reason, by, from, settings }: TripRequest,
): Promise<TripResult> {
  const atMs = store.clock.nowMs();
  const expiry = settings.recovery === 'timed' ? { untilMs: atMs + settings.recoveryTimeoutSecs * 1000 } : {};
  const openSettings = openSettingsUntil(settings, expiry, atMs);
  const breakers = (await readStoredBreakers(store)).filter(({ name }) => name === target);
  await commitOrder(
    store,
    { type: 'order-given', order: 'trip', target, reason, by, ...(from && { from }) },
    (orders) => ({ ...orders, trips: withOrder(orders.trips, { target, atMs, reason, ...expiry }) }),
    breakers.slice(0, storeBatchMax).map((each) => makeTripChange(store, each, openSettings, atMs)),
  );
  for (const { name } of breakers.slice(0, storeBatchMax)) countChange(store, name, 'opened');
  return { breakers, atMs, ...expiry };
}

/** Counts a change of a breaker that this process stored; no gear counts it. */
function countChange({ shared }: CrossProcessStore, name: string, change: 'opened' | 'closed'): void {
  const counts = shared.counters?.breaker(name);
  if (counts !== undefined) counts[change]++;
}

function makeTripChange(
  store: CrossProcessStore,
  { key, name }: StoredBreaker,
  settings: BreakerSettings,
  atMs: number,
): Change {
  return makeBreakerChange(store, key, atMs, (state) => {
    openBreaker(state, settings, atMs, handTrip);
    const { generation, cause, openUntilMs: untilMs, trips } = state;
    const counters = { limit: settings.failureThreshold, trips };
    return { type: 'breaker-opened', key, name, generation, cause, untilMs, counters };
  });
}

/** Closes the breakers of a tool, or all for null, and ends their trips; returns the breakers as they were before. */
export async function resetBreakers(
  store: CrossProcessStore,
  { target, reason, by, from }: OrderRequest,
): Promise<readonly StoredBreaker[]> {
  const storedBreakers = await readStoredBreakers(store);
  const breakers = storedBreakers.filter((each) => (target ?? each.name) === each.name && hasCounted(each));
  const atMs = store.clock.nowMs();
  const changes = breakers.map((each) => makeResetChange(store, each, atMs));
  const entry = { type: 'order-given', order: 'reset', target, reason, by, ...(from && { from }) } as const;
  const isSent = await commitOrder(store, entry, (orders) => {
    const trips = target === null ? [] : withoutTarget(orders.trips, target);
    return trips.length === orders.trips.length && changes.length === 0 ? undefined : { ...orders, trips };
  });
  // Resets in batches: one transaction holds a bounded number of changes.
  for (let at = 0; at < changes.length; at += storeBatchMax) {
    await commitOrder(store, undefined, () => undefined, changes.slice(at, at + storeBatchMax));
  }
  if (!isSent) {
    const subject = target === null ? 'no breaker' : `no breaker of ${JSON.stringify(target)}`;
    throw new SwitchgearError('not_found', `nothing to reset: ${subject} has counted a failure or is open`);
  }
  for (const { name, state } of breakers) if (state !== 'CLOSED') countChange(store, name, 'closed');
  return breakers;
}

function makeResetChange(store: CrossProcessStore, { key, name }: StoredBreaker, atMs: number): Change {
  return makeBreakerChange(store, key, atMs, (state) => {
    resetBreaker(state);
    return { type: 'breaker-reset', key, name, generation: state.generation };
  });
}

/** A change of one breaker; `update` writes into the state and returns the journal entry. */
export function makeBreakerChange(
  store: CrossProcessStore,
  key: string,
  atMs: number,
  update: (state: BreakerState) => EntryBody,
): Change {
  const change: Change<BreakerState> = {
    cell: store.cell(key, () => initialBreaker(defaultBreaker), store.shared.breakers.cell),
    update: (state) => {
      const body = update(state);
      return { state, entries: [{ body, atMs, place: { breaker: key } }] };
    },
  };
  return change as Change;
}
