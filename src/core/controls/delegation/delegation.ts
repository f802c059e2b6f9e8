/** The delegation control: a worker that keeps failing is not sent more work. One state per session and worker. */

import type { Action } from '../../action.ts';
import type { Control } from '../../control.ts';
import { nameLengthMax, reasonLengthMax, timerMaxMs, workersMax } from '../../limits.ts';
import type { DelegationSettings } from '../../settings.ts';
import { allow, type Counters, type Stop } from '../../verdict.ts';
import { findCauseHint } from './worker-failure.ts';

export interface DelegationState {
  /** The worker, once it has returned. */
  worker: string;
  failures: number;
  lastFailureAtMs: number;
  lastReason: string;
  /** What all failures point at, if they point at the same thing; else empty. */
  hint: string;
  /** Whether the last try failed and none was admitted since. */
  failedLast: boolean;
}

/** Failures of every worker by name: the form that lives in a graph's state. */
export type FailureCounts = Readonly<Record<string, number>>;

/** The limit of one worker. */
export function workerLimit(settings: DelegationSettings, worker: string): number {
  return readOwn(settings.workerLimits, worker) ?? settings.maxFailures;
}

/** Whether an action is held against the limit: every delegation, and tools where the settings say so. */
export function isCounted(settings: DelegationSettings, action: Pick<Action, 'kind' | 'name'>): boolean {
  if (action.kind === 'delegation') return true;
  return action.kind === 'tool' && (settings.tools || readOwn(settings.workerLimits, action.name) !== undefined);
}

/** The control. Delegations are counted when they return, what a host runs itself and plain tools when they settle. */
export function delegation(settings: DelegationSettings): Control<DelegationState> {
  const resetMs = settings.resetAfterSecs === undefined ? Number.POSITIVE_INFINITY : settings.resetAfterSecs * 1000;

  function failuresAt(state: DelegationState, atMs: number): number {
    return atMs - state.lastFailureAtMs > resetMs ? 0 : state.failures;
  }

  function counters(state: DelegationState, worker: string, actual: number): Counters {
    const alternative = readOwn(settings.alternatives, worker);
    return {
      worker,
      actual,
      limit: workerLimit(settings, worker),
      ...(state.hint && { hint: state.hint }),
      ...(alternative !== undefined && { alternative }),
    };
  }

  function stop(kind: Stop['kind'], state: DelegationState, worker: string, actual: number): Stop {
    return { kind, code: 'delegation_limit', control: 'delegation', counters: counters(state, worker, actual) };
  }

  function fail(state: DelegationState, worker: string, reason: string, atMs: number): DelegationState {
    const before = failuresAt(state, atMs);
    const lastReason = reason.slice(0, reasonLengthMax);
    const hint = findCauseHint([lastReason]) ?? '';
    state.worker = worker.slice(0, nameLengthMax);
    state.failures = before + 1;
    state.lastFailureAtMs = atMs;
    state.lastReason = lastReason;
    state.hint = before === 0 || state.hint === hint ? hint : '';
    state.failedLast = true;
    return state;
  }

  return {
    name: 'delegation',
    scope: 'target',

    initial: () => ({ worker: '', failures: 0, lastFailureAtMs: 0, lastReason: '', hint: '', failedLast: false }),

    judge(state, { action, atMs }) {
      if (!isCounted(settings, action)) return allow;
      const failures = failuresAt(state, atMs);
      if (failures === 0) return allow;
      if (failures >= workerLimit(settings, action.name)) {
        if (settings.onTrip === 'halt') return { ...stop('halt', state, action.name, failures), ends: 'root' };
        const refusal = stop('deny', state, action.name, failures);
        // The reset wants more than its time to have passed, hence the one.
        return Number.isFinite(resetMs) ? { ...refusal, retryAtMs: state.lastFailureAtMs + resetMs + 1 } : refusal;
      }
      const retryAtMs = state.lastFailureAtMs + Math.min(2 ** failures * 1000, timerMaxMs);
      if (!settings.backoff || atMs >= retryAtMs) return allow;
      return { ...stop('wait', state, action.name, failures), retryAtMs };
    },

    apply(state, event) {
      switch (event.type) {
        case 'delegation-returned':
          if (event.failed) return fail(state, event.worker, event.reason, event.atMs);
          if (state.failedLast) state.failedLast = false; // A success forgives nothing: the count stays.
          return state;
        case 'action-settled': {
          const { action } = event.permit;
          // One sent by `gear.delegate` settles as neutral and is booked when it returns: here or there, never twice.
          if (event.outcome.kind !== 'failure' || !isCounted(settings, action)) return state;
          return fail(state, action.name, event.outcome.error, event.atMs);
        }
        case 'action-decided':
          if (state.failedLast && event.verdict.kind === 'allow' && isCounted(settings, event.action)) {
            state.failedLast = false;
          }
          return state;
        default:
          return state; // Nothing else is about workers.
      }
    },

    check(state, atMs) {
      const failures = failuresAt(state, atMs);
      if (failures === 0) return allow;
      const tripped = settings.onTrip === 'halt' && failures >= workerLimit(settings, state.worker);
      const ends = settings.onFailure === 'end' && state.failedLast;
      return tripped || ends ? { ...stop('halt', state, state.worker, failures), ends: 'root' } : allow;
    },

    gauges(state, atMs) {
      const actual = failuresAt(state, atMs);
      if (actual === 0) return [];
      return [{ name: `delegation_failures:${state.worker}`, actual, limit: workerLimit(settings, state.worker) }];
    },
  };
}

/** One failure more, in a new map. A full map forgets the worker that failed least. */
export function recordFailure(counts: FailureCounts, worker: string): FailureCounts {
  const name = worker.slice(0, nameLengthMax);
  const next: Record<string, number> = { ...counts, [name]: failuresOf(counts, name) + 1 };
  const names = Object.keys(next);
  if (names.length > workersMax) {
    const otherNames = names.filter((candidate) => candidate !== name);
    delete next[
      otherNames.reduce((least, candidate) =>
        failuresOf(next, candidate) < failuresOf(next, least) ? candidate : least,
      )
    ];
  }
  return next;
}

/** Whether a worker has failed less often than the limit. */
export function mayDelegate(counts: FailureCounts, worker: string, limit: number): boolean {
  return failuresOf(counts, worker) < limit;
}

/** How often a worker failed; what is not a count is none. */
export function failuresOf(counts: FailureCounts, worker: string): number {
  const count = readOwn(counts, worker.slice(0, nameLengthMax));
  return typeof count === 'number' && count > 0 ? Math.min(Math.floor(count), Number.MAX_SAFE_INTEGER) : 0;
}

/** An own entry of a record: names come from outside, and every object inherits some. */
function readOwn<V>(record: Readonly<Record<string, V>>, name: string): V | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
