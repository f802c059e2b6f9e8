/**
 * The breakers of a gear: finds them by key, adapts them to their settings, evicts idle ones, and writes their
 * entries.
 */

import { getOrCreate } from '../../core/bounded.ts';
import type { Control } from '../../core/control.ts';
import { refusalAt } from '../../core/controls/breaker/breaker.ts';
import { breaker } from '../../core/controls/breaker/control.ts';
import { type BreakerState, initialBreaker } from '../../core/controls/breaker/state.ts';
import { type BreakerStats, breakerStats } from '../../core/controls/breaker/stats.ts';
import type { EntryPlace } from '../../core/event.ts';
import { breakersMax, sharedSettingsMax } from '../../core/limits.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import { type BreakerCounts, zeroBreaker } from '../../ports/process-counts.ts';
import type { SharedBreaker } from '../../ports/sharing.ts';
import type { Cell } from '../../ports/store.ts';
import type { BreakerSnapshot } from '../api.ts';
import { appendEntry, publishEntry } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { CallQueue } from './call-queue.ts';

/** The control of one set of settings. Breakers with equal settings share the control; each has its own cell. */
export interface BreakerControl extends Control<BreakerState> {
  readonly settings: BreakerSettings;
}

/**
 * One breaker, which is the bound control in every panel. When its settings change, its control is replaced, so that
 * a running call settles with the settings in force.
 */
export interface BreakerEntry {
  readonly name: string;
  readonly agent: string;
  readonly cell: Cell<BreakerState>;
  readonly cellOwner: 'self';
  /** Calls and refusals, counted for metrics. */
  readonly counts: BreakerCounts;
  /** The control; with a shared store, the shared one. */
  control: Control<BreakerState> & Partial<SharedBreaker>;
  settings: BreakerSettings;
  /** The settings from code, over those of the policy. */
  overrides: Partial<BreakerSettings>;
  /** The generation for which a refusal in observe mode was last reported. */
  shadowed: number;
  /** The last error as it came, cut. It stays in the memory of this process: it may contain arguments and secrets. */
  lastError?: string;
  /** The calls that wait for a slot, if any. */
  queue: CallQueue | undefined;
}

/** Finds or creates the breaker of a key; the settings given last apply. */
export function breakerAt(
  runtime: Runtime,
  key: string,
  name: string,
  agent: string,
  wanted: BreakerSettings,
): BreakerEntry {
  const { breakers, breakerControls } = runtime;
  const make = () => ({ ...breaker(wanted), settings: wanted });
  const own = getOrCreate(breakerControls, JSON.stringify(wanted), sharedSettingsMax, make);
  const { settings } = own;
  let entry = breakers.get(key);
  if (entry === undefined && breakers.size >= breakersMax) evict(runtime);
  const sharing = runtime.store.shared?.breakers;
  const cell = runtime.store.cell(key, () => initialBreaker(settings), sharing?.cell);
  const control = sharing?.bind(own, cell, settings, name, (entry) => publishEntry(runtime, entry)) ?? own;
  if (entry === undefined) {
    const counts = runtime.counters?.breaker(name) ?? zeroBreaker();
    const parts = { name, agent, cell, cellOwner: 'self', counts, control, settings } as const;
    entry = { ...parts, overrides: {}, shadowed: 0, queue: undefined };
    breakers.set(key, entry);
    if (runtime.heldNames.has(name)) holdBreaker(runtime, entry);
  } else if (entry.control !== control) {
    const before = entry.settings;
    entry.settings = settings;
    entry.control = control;
    changeBreaker(runtime, entry, (state) => adapt(state, settings, before));
  }
  return entry;
}

export function breakersOf(runtime: Runtime, name: string): readonly BreakerEntry[] {
  return [...runtime.breakers.values()].filter((entry) => entry.name === name);
}

export function dropBreaker({ breakers, store }: Runtime, key: string): void {
  breakers.delete(key);
  store.drop(key);
}

/** Forgets a breaker in this process; a shared store keeps its state. */
export function releaseBreaker({ breakers, store }: Runtime, key: string): void {
  breakers.delete(key);
  if (store.shared === undefined) store.drop(key);
  else store.shared.evict?.(key);
}

/** Evicts the first closed breaker without running calls. */
function evict(runtime: Runtime): void {
  for (const [key, { cell, queue }] of runtime.breakers) {
    const { phase, inFlight, heldAtMs } = cell.state;
    if (phase === 'closed' && inFlight === 0 && heldAtMs < 0 && queue === undefined) {
      dropBreaker(runtime, key);
      return;
    }
  }
}

/** Adapts the windows of a breaker to changed settings; counts and phase stay. */
function adapt(state: BreakerState, settings: BreakerSettings, before: BreakerSettings): void {
  const { ring, ringAt, ringFilled, ringFailures, ringSlow, buckets, bucketAt, running, runningAt, overdue } =
    initialBreaker(settings);
  if (ring?.length !== state.ring?.length || before.windowCalls !== settings.windowCalls) {
    Object.assign(state, { ring, ringAt, ringFilled, ringFailures, ringSlow });
  }
  // Bucket numbers depend on the bucket length, so old buckets would never expire.
  if (buckets?.length !== state.buckets?.length || before.monitorWindowSecs !== settings.monitorWindowSecs) {
    Object.assign(state, { buckets, bucketAt });
  }
  if (before.slowCallSecs !== settings.slowCallSecs) Object.assign(state, { running, runningAt, overdue });
}

/** Changes a breaker by hand, local or shared, and writes the given entry, or the entry of the resulting change. */
export function changeBreaker(
  runtime: Runtime,
  entry: BreakerEntry,
  step: (state: BreakerState) => void,
  did?: 'held' | 'released' | 'reset',
): void {
  const { cell, control, name } = entry;
  const before = cell.state.generation;
  if (control.change === undefined) step(cell.state);
  else control.change(step, runtime.clock.nowMs());
  if (did === undefined) reportBreaker(runtime, entry, before);
  else appendEntry(runtime, { type: `breaker-${did}`, key: cell.key, name, generation: cell.state.generation });
}

/**
 * Writes an entry if the phase of a breaker changed. The entry of a shared breaker is written with the stored change.
 */
export function reportBreaker(
  runtime: Runtime,
  entry: BreakerEntry,
  before: number,
  place?: EntryPlace,
  atMs?: number,
): void {
  const { name, cell, settings } = entry;
  const { generation, phase, cause, openUntilMs: untilMs, trips } = cell.state;
  if (generation === before) return;
  if (phase === 'open') runtime.health?.opened(runtime, entry);
  if (entry.control.change !== undefined) return;
  const body = { key: cell.key, name, generation };
  if (phase !== 'open') {
    appendEntry(runtime, { type: phase === 'closed' ? 'breaker-closed' : 'breaker-half-opened', ...body }, place, atMs);
    return;
  }
  const counters = { limit: settings.failureThreshold, trips };
  appendEntry(runtime, { type: 'breaker-opened', ...body, cause, untilMs, counters }, place, atMs);
}

export function holdBreaker(runtime: Runtime, entry: BreakerEntry): void {
  const hold = (state: BreakerState) => {
    state.heldAtMs = Math.max(0, runtime.clock.nowMs());
  };
  changeBreaker(runtime, entry, hold, 'held');
}

const stateNames = { closed: 'CLOSED', open: 'OPEN', 'half-open': 'HALF_OPEN' } as const;

/** The name of the current state: open until a call would pass. */
export function stateName({ cell, settings }: BreakerEntry, atMs: number): 'CLOSED' | 'OPEN' | 'HALF_OPEN' {
  const { state } = cell;
  if (state.heldAtMs >= 0) return 'OPEN';
  if (state.phase === 'open' && refusalAt(state, settings, atMs) === undefined) return 'HALF_OPEN';
  return stateNames[state.phase];
}

/** The sums of the counts of some breakers. */
export function statsOf(entries: readonly BreakerEntry[]): BreakerStats {
  const all = entries.map(({ cell }) => breakerStats(cell.state));
  const sum = (count: keyof BreakerStats) => all.reduce((total, stats) => total + stats[count], 0);
  return {
    consecutiveFailures: sum('consecutiveFailures'),
    halfOpenSuccesses: sum('halfOpenSuccesses'),
    totalFailures: sum('totalFailures'),
    totalSuccesses: sum('totalSuccesses'),
    totalNeutrals: sum('totalNeutrals'),
    totalRequests: sum('totalRequests'),
    rejectedRequests: sum('rejectedRequests'),
    lateResults: sum('lateResults'),
    inFlight: sum('inFlight'),
  };
}

export function snapshotBreaker(runtime: Runtime, entry: BreakerEntry, atMs: number): BreakerSnapshot {
  const { name, agent, settings, cell } = entry;
  const { heldAtMs, phase, openUntilMs } = cell.state;
  return {
    key: cell.key,
    name,
    agent,
    state: stateName(entry, atMs),
    held: heldAtMs >= 0,
    ...(phase === 'open' && openUntilMs >= 0 && { openUntilMs }),
    healthCheck: !runtime.health?.checks.has(name) ? 'none' : settings.enableHealthCheck ? 'on' : 'off',
    ...statsOf([entry]),
  };
}
