/** Shares a breaker: each process judges on its local view and commits changes of phase, failure count and probes. */

import type { Action } from '../core/action.ts';
import type { Control } from '../core/control.ts';
import { refusalAt, renewProbe } from '../core/controls/breaker/breaker.ts';
import type { BreakerState } from '../core/controls/breaker/state.ts';
import { beginRunning } from '../core/controls/breaker/window.ts';
import type { ActionDecided, ControlEvent, Entry, EntryBody } from '../core/event.ts';
import {
  grantKeepMaxMs,
  grantKeepMs,
  localProbeAfterMs,
  pendingSuccessesMax,
  slowGrantKeepMs,
} from '../core/limits.ts';
import { retryTimeAfter } from '../core/retry-delay.ts';
import type { BreakerSettings } from '../core/settings.ts';
import type { Stop } from '../core/verdict.ts';
import type { Clock } from '../ports/clock.ts';
import type { BreakerSharing, SharedBreaker } from '../ports/sharing.ts';
import type { Cell, CellUpdate, StoreHealth, Transaction, TransactionResult } from '../ports/store.ts';
import { breakerCell } from './shared-breaker-cell.ts';

/** The part of a store that shared breakers use. */
export interface BreakerStore {
  readonly process: string;
  readonly clock: Clock;
  health(): StoreHealth;
  commitNow(transaction: Transaction): TransactionResult;
  commit(transaction: Transaction): Promise<TransactionResult>;
}

/** Creates the sharing of breakers over a store; the same cell and control give the same shared control. */
export function shareBreakers(store: BreakerStore): BreakerSharing {
  const sharedControls = new WeakMap<
    Cell<BreakerState>,
    { readonly control: unknown; readonly sharedControl: SharedBreaker }
  >();
  return {
    cell: breakerCell,
    bind(control, cell, settings, name, onEntry) {
      const bound = sharedControls.get(cell);
      if (bound?.control === control) return bound.sharedControl;
      const sharedControl = shareBreaker({ store, control, cell, settings, name, onEntry });
      sharedControls.set(cell, { control, sharedControl });
      return sharedControl;
    },
  };
}

/** The fixed parts of one shared breaker. */
interface BreakerParts {
  readonly store: BreakerStore;
  readonly control: Control<BreakerState>;
  readonly cell: Cell<BreakerState>;
  readonly settings: BreakerSettings;
  readonly name: string;
  readonly onEntry: (entry: Entry) => void;
}

/** A probe that the store granted after its caller was told to wait; the next call takes it. */
interface GrantedProbe {
  readonly id: string;
  readonly generation: number;
  readonly untilMs: number;
}

/** One breaker as this process shares it. */
interface LocalBreaker extends BreakerParts {
  /** Whether the breaker's windows count successes. */
  readonly countsSuccesses: boolean;
  /** Probe ids by action id: action ids are unique in this process, probe ids in the store. */
  readonly probeIds: Map<string | number, string>;
  granted: GrantedProbe | undefined;
  /** How long a granted probe is reserved for the next call; longer after a caller that could not wait or came late. */
  keepMs: number;
  /** The last action that was told to wait. */
  waitingCaller: Action['id'] | undefined;
  /** When the pending probe request was sent. */
  requestedAtMs: number | undefined;
  /** The number of probe requests so far. */
  requests: number;
  /** Since when the store has not answered probe requests. */
  unansweredMs: number | undefined;
  /** Successes since the last transaction; the next transaction carries them. */
  successes: ControlEvent[];
}

function shareBreaker(parts: BreakerParts): SharedBreaker {
  const { control, settings } = parts;
  const countsCalls = settings.trip === 'count_window' || settings.trip === 'time_window';
  const breaker: LocalBreaker = {
    ...parts,
    countsSuccesses: countsCalls || settings.failureRateThreshold !== undefined || settings.slowCallSecs !== undefined,
    probeIds: new Map(),
    granted: undefined,
    keepMs: grantKeepMs,
    waitingCaller: undefined,
    requestedAtMs: undefined,
    requests: 0,
    unansweredMs: undefined,
    successes: [],
  };
  return {
    name: control.name,
    scope: control.scope,
    initial: control.initial,
    judge(state, proposal, cellOwner) {
      if (!isGranted(breaker, proposal.atMs)) return control.judge(state, proposal, cellOwner);
      // The granted probe occupies a slot, but it is reserved for this call.
      const probes = state.probes.filter(({ id }) => id !== breaker.granted?.id);
      return control.judge({ ...state, probes }, proposal, cellOwner);
    },
    acquireProbe: (action, atMs) => acquireProbe(breaker, action, atMs),
    change: (update, atMs) => commitChange(breaker, update, atMs),
    apply: (state, event, cellOwner) => applyEvent(breaker, state, event, cellOwner),
  };
}

/** Grants a probe to an action: from the reserved one, from the store now, or later by a pending request. */
function acquireProbe(breaker: LocalBreaker, action: Action, atMs: number): boolean | Stop {
  const { store, cell, settings, probeIds } = breaker;
  if (settings.mode !== 'enforce' || cell.state.phase === 'closed') return false;
  if (isGranted(breaker, atMs)) {
    probeIds.set(action.id, breaker.granted!.id);
    breaker.granted = undefined;
    return true;
  }
  const id = `${store.process}/${action.id}`;
  const result = store.commitNow(makeProbeTransaction(breaker, id, atMs));
  if (result.status === 'committed') {
    probeIds.set(action.id, id);
    return true;
  }
  if (result.status !== 'unavailable') return refusalAt(cell.state, settings, atMs) ?? waitStop(breaker, action, atMs);
  if (breaker.requestedAtMs === undefined) void requestProbe(breaker, atMs);
  return waitStop(breaker, action, atMs);
}

/** Applies an event to the local view, and commits the result if it changes more than the counts of this process. */
function applyEvent(
  breaker: LocalBreaker,
  state: BreakerState,
  event: ControlEvent,
  cellOwner: Parameters<Control['apply']>[2],
): BreakerState {
  const { control, cell, settings, probeIds } = breaker;
  if (event.type === 'action-decided' && event.action.id === breaker.waitingCaller && event.verdict.kind === 'deny') {
    // The caller could not wait; a program or a model retries later than a waiting call does.
    breaker.keepMs = Math.max(breaker.keepMs, slowGrantKeepMs);
  }
  if (event.type === 'action-decided' && probeIds.size > 0 && probeIds.has(event.action.id)) {
    // The store already holds the probe; only the counts of this process change.
    state.requests++;
    state.inFlight++;
    beginRunning(state, settings, event.atMs);
    return state;
  }
  const probeEvent = withProbeId(breaker, event);
  const { generation, run, runError, probes } = state;
  const next = control.apply(state, probeEvent, cellOwner);
  const isProbe = 'permit' in probeEvent && probeEvent.permit.probe;
  if (event.type === 'action-settled' && isProbe) probeIds.delete(event.permit.action.id);
  const isSame = next.generation === generation && next.run === run && next.runError === runError;
  if (isSame && next.probes === probes && !isProbe) {
    const isCounted = breaker.countsSuccesses && event.type === 'action-settled';
    if (isCounted && breaker.successes.length < pendingSuccessesMax) breaker.successes.push(event);
    return next;
  }
  commitChange(breaker, (stored) => void control.apply(stored, probeEvent, cellOwner), event.atMs);
  return cell.state;
}

/** Returns the event with the probe id that the store knows instead of the action id of this process. */
function withProbeId({ probeIds }: LocalBreaker, event: ControlEvent): ControlEvent {
  if (!('permit' in event) || !event.permit.probe) return event;
  const { permit } = event;
  const id = probeIds.get(permit.action.id);
  return id === undefined ? event : { ...event, permit: { ...permit, action: { ...permit.action, id } } };
}

/** Makes a transaction on the cell, with an entry if the phase changes; `onEntry` gets the entry once it is stored. */
function makeTransaction(
  { cell, name, settings, onEntry }: LocalBreaker,
  atMs: number,
  update: (state: BreakerState) => boolean,
  queueIfUnavailable: boolean,
): Transaction {
  const cellUpdate = (state: BreakerState): CellUpdate<BreakerState> => {
    const before = state.generation;
    state.running = null; // Running calls are local to each process.
    if (!update(state)) return 'refuse';
    const entries = [{ body: phaseEntry(state, cell.key, name, settings), place: { breaker: cell.key }, atMs }];
    return state.generation === before ? { state } : { state, entries };
  };
  return {
    changes: [{ cell, update: cellUpdate }],
    queueIfUnavailable,
    onCommitted: (entries) => entries.forEach(onEntry),
  };
}

function phaseEntry(
  { phase, generation, cause, openUntilMs: untilMs, trips }: BreakerState,
  key: string,
  name: string,
  settings: BreakerSettings,
): EntryBody {
  const body = { key, name, generation };
  if (phase !== 'open') return { type: phase === 'closed' ? 'breaker-closed' : 'breaker-half-opened', ...body };
  return { type: 'breaker-opened', ...body, cause, untilMs, counters: { limit: settings.failureThreshold, trips } };
}

/** Commits a change together with the successes since the last transaction; queues it if the store is unavailable. */
function commitChange(breaker: LocalBreaker, change: (state: BreakerState) => void, atMs: number): void {
  const { control, successes } = breaker;
  breaker.successes = [];
  const update = (state: BreakerState) => {
    for (const event of successes) control.apply(state, event, 'self');
    change(state);
    return true;
  };
  breaker.store.commitNow(makeTransaction(breaker, atMs, update, true));
}

/** Makes the transaction that takes a probe with this id, and refuses if the breaker has no free probe. */
function makeProbeTransaction(breaker: LocalBreaker, id: string, atMs: number): Transaction {
  const { control, settings } = breaker;
  const admission = { type: 'action-decided', atMs, action: { id }, verdict: { kind: 'allow' } } as ActionDecided;
  const update = (state: BreakerState) => {
    if (refusalAt(state, settings, atMs) !== undefined) return false;
    control.apply(state, admission, 'self');
    return state.probes.some((probe) => probe.id === id);
  };
  return makeTransaction(breaker, atMs, update, false);
}

/** Returns an unused probe without recording an outcome. */
function returnProbe(breaker: LocalBreaker, id: string, generation: number): void {
  const remove = (state: BreakerState) => {
    if (state.generation === generation) state.probes = state.probes.filter((probe) => probe.id !== id);
  };
  commitChange(breaker, remove, breaker.store.clock.nowMs());
}

/** Requests a probe from the store and reserves it for the next call. */
async function requestProbe(breaker: LocalBreaker, atMs: number): Promise<void> {
  const { store, cell } = breaker;
  breaker.requestedAtMs = atMs;
  const id = `${store.process}/g${++breaker.requests}`;
  const transaction = makeProbeTransaction(breaker, id, atMs);
  let isGivenUp = false;
  const onCommitted = (entries: readonly Entry[]) => {
    transaction.onCommitted?.(entries);
    // The reply was lost, but the store had granted the probe.
    if (isGivenUp) returnProbe(breaker, id, cell.state.generation);
  };
  const result = await store.commit({ ...transaction, onCommitted });
  breaker.requestedAtMs = undefined;
  const alone = isAlone(breaker, result);
  isGivenUp = result.status !== 'committed' && !(alone && takeProbeAlone(breaker, id));
  if (isGivenUp) return;
  const granted = { id, generation: cell.state.generation, untilMs: store.clock.nowMs() + breaker.keepMs };
  breaker.granted = granted;
  keepProbeAlive(breaker, granted);
}

/** Renews the lease of a reserved probe until a call takes it; doubles `keepMs` if no call takes it. */
function keepProbeAlive(breaker: LocalBreaker, probe: GrantedProbe): void {
  const { store, cell, settings } = breaker;
  const { id, generation, untilMs } = probe;
  const waitMs = Math.min(untilMs - store.clock.nowMs(), (settings.leaseSecs * 1000) / 3);
  store.clock.after(waitMs, () => {
    if (breaker.granted?.id !== id) return;
    const atMs = store.clock.nowMs();
    if (atMs < untilMs && isGranted(breaker, atMs)) {
      commitChange(breaker, (state) => renewProbe(state, settings, { id, generation, probe: true, atMs }, atMs), atMs);
      keepProbeAlive(breaker, probe);
      return;
    }
    breaker.granted = undefined;
    if (cell.state.generation === generation) breaker.keepMs = Math.min(2 * breaker.keepMs, grantKeepMaxMs);
    returnProbe(breaker, id, generation);
  });
}

/** Whether the store has been unavailable for five seconds, so that this process probes by itself. */
function isAlone(breaker: LocalBreaker, { status }: TransactionResult): boolean {
  const { store } = breaker;
  const atMs = store.clock.nowMs();
  if (status !== 'unavailable' || store.health().state === 'shared') breaker.unansweredMs = undefined;
  else breaker.unansweredMs ??= atMs;
  return breaker.unansweredMs !== undefined && atMs - breaker.unansweredMs >= localProbeAfterMs;
}

/** Takes a probe on the local view; the store gets the transaction later, and refuses it if another process probed. */
function takeProbeAlone(breaker: LocalBreaker, id: string): boolean {
  const { store, cell } = breaker;
  store.commitNow({ ...makeProbeTransaction(breaker, id, store.clock.nowMs()), queueIfUnavailable: true });
  return cell.state.probes.some((probe) => probe.id === id);
}

/** Whether a reserved probe of the current generation exists and its lease still runs. */
function isGranted({ granted, cell }: LocalBreaker, atMs: number): boolean {
  const { generation, probes } = cell.state;
  if (granted === undefined || granted.generation !== generation || atMs >= granted.untilMs) return false;
  // A process that was frozen may have lost the probe to another process.
  return probes.some(({ id, endMs }) => id === granted.id && atMs < endMs);
}

/** Tells a caller to wait for the pending request; denies a caller that cannot wait. */
function waitStop(breaker: LocalBreaker, { id, patienceMs }: Action, atMs: number): Stop {
  const { failureThreshold: limit } = breaker.settings;
  const counters = { failures: limit, limit, wait_secs: 1 };
  const retryAtMs = retryTimeAfter(atMs, breaker.requestedAtMs ?? atMs);
  const stop = { code: 'circuit_open', control: 'breaker', counters, retryAtMs } as const;
  if (patienceMs === 0) return { ...stop, kind: 'deny' };
  breaker.waitingCaller = id;
  return { ...stop, kind: 'wait', pending: true };
}
