/** A breaker that processes have in common: each decides on its view, and what changes more than counts is a deal. */

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

/** What sharing needs of its store. */
export interface BreakerStore {
  readonly process: string;
  readonly clock: Clock;
  health(): StoreHealth;
  commitNow(transaction: Transaction): TransactionResult;
  commit(transaction: Transaction): Promise<TransactionResult>;
}

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
      const sharedControl = shareBreaker(store, control, cell, settings, name, onEntry);
      sharedControls.set(cell, { control, sharedControl });
      return sharedControl;
    },
  };
}

function shareBreaker(
  store: BreakerStore,
  control: Control<BreakerState>,
  cell: Cell<BreakerState>,
  settings: BreakerSettings,
  name: string,
  onEntry: (entry: Entry) => void,
): SharedBreaker {
  /** Probes by the calls that hold them: ids of calls are this process's own, those of probes are everybody's. */
  const probeIds = new Map<string | number, string>();
  /** A probe that was granted after its caller had to be sent away: for the next one. */
  let granted: { readonly id: string; readonly generation: number; readonly untilMs: number } | undefined;
  /** How long it waits for that one: the longer, the later those come who were sent away. */
  let keepMs = grantKeepMs;
  /** The call that was last told to wait. */
  let waitingCaller: Action['id'] | undefined;
  /** Since when a request for a probe is out. */
  let requestedAtMs: number | undefined;
  let grants = 0;
  /** Since when nobody answered who could grant a probe. */
  let unansweredMs: number | undefined;
  /** Successes since the last deal, where windows count them: they ride along with the next. */
  let successes: ControlEvent[] = [];
  const counts = settings.trip === 'count_window' || settings.trip === 'time_window';
  const counted = counts || settings.failureRateThreshold !== undefined || settings.slowCallSecs !== undefined;

  /** A change of what is stored, with the entry that says so; once it is written it is said here, too. */
  function makeTransaction(
    atMs: number,
    update: (state: BreakerState) => boolean,
    queueIfUnavailable: boolean,
  ): Transaction {
    const cellUpdate = (state: BreakerState): CellUpdate<BreakerState> => {
      const before = state.generation;
      state.running = null; // Who runs where is each process's own knowledge.
      if (!update(state)) return 'refuse';
      const entries = [{ body: phaseEntry(state), place: { breaker: cell.key }, atMs }];
      return state.generation === before ? { state } : { state, entries };
    };
    return {
      changes: [{ cell, update: cellUpdate }],
      queueIfUnavailable,
      onCommitted: (entries) => entries.forEach(onEntry),
    };
  }

  function phaseEntry({ phase, generation, cause, openUntilMs: untilMs, trips }: BreakerState): EntryBody {
    const body = { key: cell.key, name, generation };
    if (phase !== 'open') return { type: phase === 'closed' ? 'breaker-closed' : 'breaker-half-opened', ...body };
    return { type: 'breaker-opened', ...body, cause, untilMs, counters: { limit: settings.failureThreshold, trips } };
  }

  function commitChange(change: (state: BreakerState) => void, atMs: number): void {
    const before = successes;
    successes = [];
    const transaction = makeTransaction(
      atMs,
      (state) => {
        for (const event of before) control.apply(state, event, 'self');
        change(state);
        return true;
      },
      true,
    );
    store.commitNow(transaction);
  }

  function makeProbeTransaction(id: string, atMs: number): Transaction {
    const event = (state: BreakerState) =>
      control.apply(
        state,
        { type: 'action-decided', atMs, action: { id }, verdict: { kind: 'allow' } } as ActionDecided,
        'self',
      );
    return makeTransaction(
      atMs,
      (state) => {
        if (refusalAt(state, settings, atMs) !== undefined) return false;
        event(state);
        return state.probes.some((probe) => probe.id === id);
      },
      false,
    );
  }

  /** Nobody came for it: it goes back, and says nothing about the callee. */
  function returnProbe(id: string, generation: number): void {
    commitChange((state) => {
      if (state.generation === generation) state.probes = state.probes.filter((probe) => probe.id !== id);
    }, store.clock.nowMs());
  }

  /** Asks for a probe on behalf of whoever comes next. */
  async function requestProbe(atMs: number): Promise<void> {
    requestedAtMs = atMs;
    const id = `${store.process}/g${++grants}`;
    const transaction = makeProbeTransaction(id, atMs);
    let isGivenUp = false;
    const onCommitted = (entries: readonly Entry[]) => {
      transaction.onCommitted?.(entries);
      if (isGivenUp) returnProbe(id, cell.state.generation); // The answer was lost, and it was granted after all.
    };
    const result = await store.commit({ ...transaction, onCommitted });
    requestedAtMs = undefined;
    const alone = isAlone(result);
    isGivenUp = result.status !== 'committed' && !(alone && takeProbeAlone(id));
    if (isGivenUp) return;
    const { generation } = cell.state;
    granted = { id, generation, untilMs: store.clock.nowMs() + keepMs };
    keepProbeAlive(id, generation, granted.untilMs);
  }

  /** Keeps a granted probe alive until somebody comes for it; where nobody did, the next one waits longer. */
  function keepProbeAlive(id: string, generation: number, untilMs: number): void {
    const waitMs = Math.min(untilMs - store.clock.nowMs(), (settings.leaseSecs * 1000) / 3);
    store.clock.after(waitMs, () => {
      if (granted?.id !== id) return;
      const atMs = store.clock.nowMs();
      if (atMs < untilMs && isGranted(atMs)) {
        commitChange((state) => renewProbe(state, settings, { id, generation, probe: true, atMs }, atMs), atMs);
        keepProbeAlive(id, generation, untilMs);
        return;
      }
      granted = undefined;
      if (cell.state.generation === generation) keepMs = Math.min(2 * keepMs, grantKeepMaxMs);
      returnProbe(id, generation);
    });
  }

  /** Whether the store has been away so long that this process finds out for itself. */
  function isAlone({ status }: TransactionResult): boolean {
    const atMs = store.clock.nowMs();
    if (status !== 'unavailable' || store.health().state === 'shared') unansweredMs = undefined;
    else unansweredMs ??= atMs;
    return unansweredMs !== undefined && atMs - unansweredMs >= localProbeAfterMs;
  }

  /** Takes a probe of what this process knows; the store hears of it, if nobody else was faster there. */
  function takeProbeAlone(id: string): boolean {
    store.commitNow({ ...makeProbeTransaction(id, store.clock.nowMs()), queueIfUnavailable: true });
    return cell.state.probes.some((probe) => probe.id === id);
  }

  function isGranted(atMs: number): boolean {
    const { generation, probes } = cell.state;
    if (granted === undefined || granted.generation !== generation || atMs >= granted.untilMs) return false;
    // A process that was frozen may have lost it to others.
    return probes.some(({ id, endMs }) => id === granted?.id && atMs < endMs);
  }

  function waitStop({ id, patienceMs }: Action, atMs: number): Stop {
    const { failureThreshold: limit } = settings;
    const counters = { failures: limit, limit, wait_secs: 1 };
    const retryAtMs = retryTimeAfter(atMs, requestedAtMs ?? atMs);
    const stop = { code: 'circuit_open', control: 'breaker', counters, retryAtMs } as const;
    if (patienceMs === 0) return { ...stop, kind: 'deny' };
    waitingCaller = id;
    return { ...stop, kind: 'wait', pending: true };
  }

  /** The event as everybody knows it: with the probe's own id. */
  function withProbeId(event: ControlEvent): ControlEvent {
    if (!('permit' in event) || !event.permit.probe) return event;
    const { permit } = event;
    const id = probeIds.get(permit.action.id);
    return id === undefined ? event : { ...event, permit: { ...permit, action: { ...permit.action, id } } };
  }

  return {
    name: control.name,
    scope: control.scope,
    initial: control.initial,
    judge(state, proposal, cellOwner) {
      // The slot that was granted for the next call is taken, but not against it.
      const otherProbes = isGranted(proposal.atMs)
        ? state.probes.filter((probe) => probe.id !== granted?.id)
        : state.probes;
      return control.judge(
        otherProbes === state.probes ? state : { ...state, probes: otherProbes },
        proposal,
        cellOwner,
      );
    },
    acquireProbe(action, atMs) {
      const { phase } = cell.state;
      if (settings.mode !== 'enforce' || phase === 'closed') return false;
      if (isGranted(atMs)) {
        probeIds.set(action.id, granted!.id);
        granted = undefined;
        return true;
      }
      const id = `${store.process}/${action.id}`;
      const result = store.commitNow(makeProbeTransaction(id, atMs));
      if (result.status === 'committed') {
        probeIds.set(action.id, id);
        return true;
      }
      if (result.status !== 'unavailable') return refusalAt(cell.state, settings, atMs) ?? waitStop(action, atMs);
      if (requestedAtMs === undefined) void requestProbe(atMs);
      return waitStop(action, atMs);
    },
    change: commitChange,
    apply(state, event, cellOwner) {
      if (event.type === 'action-decided' && event.action.id === waitingCaller && event.verdict.kind === 'deny') {
        keepMs = Math.max(keepMs, slowGrantKeepMs); // It could not wait: a program or a model tries again some time.
      }
      if (event.type === 'action-decided' && probeIds.has(event.action.id)) {
        // The store has it already; what is left to count is this process's own.
        state.requests++;
        state.inFlight++;
        beginRunning(state, settings, event.atMs);
        return state;
      }
      const probeEvent = withProbeId(event);
      const { generation, run, runError, probes } = state;
      const next = control.apply(state, probeEvent, cellOwner);
      const isProbe = 'permit' in probeEvent && probeEvent.permit.probe;
      if (event.type === 'action-settled' && isProbe) probeIds.delete(event.permit.action.id);
      const same = next.generation === generation && next.run === run && next.runError === runError;
      if (same && next.probes === probes && !isProbe) {
        if (counted && event.type === 'action-settled' && successes.length < pendingSuccessesMax) successes.push(event);
        return next;
      }
      commitChange((stored) => void control.apply(stored, probeEvent, cellOwner), event.atMs);
      return cell.state;
    },
  };
}
