/** The breakers of a gear: found by key, tuned by name, evicted when idle, told of in entries. */

import { refusalAt } from '../core/breaker/breaker.ts';
import { breaker } from '../core/breaker/control.ts';
import { breakerMetrics } from '../core/breaker/metrics.ts';
import { halfOpenBreaker, openBreaker, resetBreaker } from '../core/breaker/phases.ts';
import { type BreakerState, initialBreaker } from '../core/breaker/state.ts';
import { bucketCount, ringWords } from '../core/breaker/window.ts';
import type { Control } from '../core/control.ts';
import type { EntryPlace } from '../core/event.ts';
import { breakersMax } from '../core/limits.ts';
import type { Holder } from '../core/panel.ts';
import type { AlertSettings, BreakerSettings } from '../core/settings.ts';
import type { Store } from '../ports/store.ts';
import type { BreakerSnapshot, BreakerStats } from './front-door.ts';
import type { Notebook } from './notebook.ts';
import type { BreakerEntry, Target } from './targets.ts';

export interface Breakers {
  /** The breaker of a key, made where there is none; its settings are those given last. */
  open(key: string, target: Target, agent: string, settings: BreakerSettings): BreakerEntry;
  named(name: string): readonly BreakerEntry[];
  all(): Iterable<BreakerEntry>;
  /** Those whose callee can be asked how it is. */
  checked(): Iterable<BreakerEntry>;
  readonly size: number;
  reset(entry: BreakerEntry, atMs: number): void;
  trip(entry: BreakerEntry, atMs: number, untilMs?: number): void;
  hold(entry: BreakerEntry, atMs: number): void;
  release(entry: BreakerEntry, atMs: number): void;
  /** Names that are held: a breaker of such a name is held from its first call on. */
  readonly heldNames: Set<string>;
  /** A health check said that the callee lives: a probe may pass. */
  healthy(entry: BreakerEntry, healthy: boolean, atMs: number): void;
  dropTask(task: string): void;
}

export function createBreakers(store: Store, notes: Notebook): Breakers {
  const entries = new Map<string, BreakerEntry>();
  const checked = new Set<BreakerEntry>();
  /** The keys that end with a task: ending one must not look at the breakers of all others. */
  const keysOfTask = new Map<string, Set<string>>();

  function remember(key: string): void {
    const [, , scope, task] = key.split('/');
    if (scope !== 'task' || task === undefined) return;
    const keys = keysOfTask.get(task) ?? new Set();
    keysOfTask.set(task, keys.add(key));
  }

  function forget(key: string): void {
    const entry = entries.get(key);
    if (entry !== undefined) checked.delete(entry);
    entries.delete(key);
    store.drop(key);
    keysOfTask.get(key.split('/')[3] ?? '')?.delete(key);
  }

  function change(entry: BreakerEntry, atMs: number, step: (state: BreakerState) => void): void {
    const before = entry.cell.state.generation;
    step(entry.cell.state);
    if (entry.cell.state.generation !== before) reportBreaker(notes, entry, {}, before, atMs);
  }

  function say(entry: BreakerEntry, type: 'breaker-held' | 'breaker-released' | 'breaker-reset', atMs: number): void {
    const { key, name, cell } = entry;
    notes.write({ type, key, name, generation: cell.state.generation }, {}, atMs);
  }

  const heldNames = new Set<string>();
  const controls = new WeakMap<BreakerSettings, Control<BreakerState>>();

  /** Breakers of equal settings have one control: only their cells differ. */
  function controlOf(settings: BreakerSettings): Control<BreakerState> {
    let control = controls.get(settings);
    if (control === undefined) {
      control = breaker(settings);
      controls.set(settings, control);
    }
    return control;
  }

  function hold(entry: BreakerEntry, atMs: number): void {
    entry.cell.state.heldAtMs = Math.max(0, atMs);
    say(entry, 'breaker-held', atMs);
  }

  return {
    heldNames,
    open(key, target, agent, settings) {
      let entry = entries.get(key);
      if (entry === undefined) {
        if (entries.size >= breakersMax) evict(entries, forget);
        const cell = store.cell(key, () => initialBreaker(settings)) as Holder<BreakerState>;
        entry = {
          key,
          name: target.name,
          agent,
          settings,
          cell,
          seat: { control: controlOf(settings), cell, place: 'self' },
          healthCheck: target.healthCheck,
          nextHealthCheckMs: 0,
          checking: 0,
          shadowed: 0,
        };
        entries.set(key, entry);
        remember(key);
        if (heldNames.has(target.name)) hold(entry, store.clock.nowMs());
      }
      if (entry.settings !== settings) {
        adapt(entry.cell.state, settings, entry.settings);
        entry.settings = settings;
        entry.seat.control = controlOf(settings);
      }
      entry.healthCheck = target.healthCheck ?? entry.healthCheck;
      if (entry.healthCheck !== undefined) checked.add(entry);
      return entry;
    },
    named: (name) => [...entries.values()].filter((entry) => entry.name === name),
    all: () => entries.values(),
    checked: () => checked,
    get size() {
      return entries.size;
    },
    reset(entry, atMs) {
      resetBreaker(entry.cell.state);
      say(entry, 'breaker-reset', atMs);
    },
    trip: (entry, atMs, untilMs) =>
      change(entry, atMs, (state) => openBreaker(state, entry.settings, atMs, 'a trip by hand', untilMs)),
    hold,
    release(entry, atMs) {
      entry.cell.state.heldAtMs = -1;
      say(entry, 'breaker-released', atMs);
    },
    healthy(entry, healthy, atMs) {
      const { key, name } = entry;
      notes.write({ type: 'health-checked', key, name, healthy }, {}, atMs);
      if (healthy && entry.cell.state.phase === 'open') change(entry, atMs, (state) => halfOpenBreaker(state, atMs));
    },
    dropTask(task) {
      const id = encodeURIComponent(task);
      for (const key of keysOfTask.get(id) ?? []) forget(key);
      keysOfTask.delete(id);
    },
  };
}

/** Makes room: the first closed breaker with nothing in flight goes; nobody would miss it. */
function evict(entries: Map<string, BreakerEntry>, forget: (key: string) => void): void {
  for (const [key, { cell }] of entries) {
    if (cell.state.phase !== 'closed' || cell.state.inFlight > 0 || cell.state.heldAtMs >= 0) continue;
    forget(key);
    return;
  }
}

/** Fits the windows of a living breaker to changed settings; its counts and phase stay. */
function adapt(state: BreakerState, settings: BreakerSettings, before: BreakerSettings): void {
  const ring = ringWords(settings);
  if (ring?.length !== state.ring?.length || before.windowCalls !== settings.windowCalls) {
    state.ring = ring;
    state.ringAt = 0;
    state.ringFilled = 0;
    state.ringFailures = 0;
    state.ringSlow = 0;
  }
  const buckets = bucketCount(settings);
  // A bucket of another length has another number: the old ones would never grow old.
  if (buckets?.length !== state.buckets?.length || before.monitorWindowSecs !== settings.monitorWindowSecs) {
    state.buckets = buckets;
    state.bucketAt = 0;
  }
  if (before.slowCallSecs !== settings.slowCallSecs) {
    state.running = initialBreaker(settings).running;
    state.runningAt = 0;
    state.overdue = 0;
  }
}

/** Says what a breaker became. */
export function reportBreaker(
  notes: Notebook,
  entry: BreakerEntry,
  place: EntryPlace,
  before: number,
  atMs: number,
): void {
  const { key, name, cell, settings } = entry;
  const { state } = cell;
  const { generation } = state;
  if (generation === before) return;
  switch (state.phase) {
    case 'open':
      entry.nextHealthCheckMs = 0;
      notes.write(
        {
          type: 'breaker-opened',
          key,
          name,
          generation,
          cause: state.cause,
          untilMs: state.openUntilMs,
          counters: { limit: settings.failureThreshold, trips: state.trips },
        },
        place,
        atMs,
      );
      return;
    case 'half-open':
      notes.write({ type: 'breaker-half-opened', key, name, generation }, place, atMs);
      return;
    case 'closed':
      notes.write({ type: 'breaker-closed', key, name, generation }, place, atMs);
  }
}

const stateNames = { closed: 'CLOSED', open: 'OPEN', 'half-open': 'HALF_OPEN' } as const;

/** The state as it is told: open until a call would really pass. */
export function stateName(entry: BreakerEntry, atMs: number): 'CLOSED' | 'OPEN' | 'HALF_OPEN' {
  const { state } = entry.cell;
  if (state.heldAtMs >= 0) return 'OPEN';
  if (state.phase === 'open' && refusalAt(state, entry.settings, atMs) === undefined) return 'HALF_OPEN';
  return stateNames[state.phase];
}

export function statsOf(entry: BreakerEntry): BreakerStats {
  const { state } = entry.cell;
  return {
    consecutiveFailures: state.streak,
    halfOpenSuccesses: state.probeSuccesses,
    totalFailures: state.failures,
    totalSuccesses: state.successes,
    totalNeutrals: state.neutrals,
    totalRequests: state.requests,
    rejectedRequests: state.refused,
    lateResults: state.late,
    inFlight: state.inFlight,
  };
}

export function snapshotBreaker(entry: BreakerEntry, alerts: AlertSettings, atMs: number): BreakerSnapshot {
  const { key, name, agent, settings, cell } = entry;
  const { state } = cell;
  return {
    key,
    name,
    agent,
    state: stateName(entry, atMs),
    held: state.heldAtMs >= 0,
    ...(state.phase === 'open' && state.openUntilMs >= 0 ? { openUntilMs: state.openUntilMs } : {}),
    healthCheck: entry.healthCheck === undefined ? 'none' : settings.enableHealthCheck ? 'on' : 'off',
    ...statsOf(entry),
    metrics: breakerMetrics(state, settings, alerts, atMs),
  };
}
