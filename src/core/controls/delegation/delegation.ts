/** The delegation control: refuses further work to a worker that keeps failing. One state per session and worker. */

import type { Action } from '../../action.ts';
import type { Control } from '../../control.ts';
import { catchAllFailuresMax, nameLengthMax, reasonLengthMax, timerMaxMs, workersMax } from '../../limits.ts';
import type { DelegationSettings } from '../../settings.ts';
import { allow, type Counters, type Stop } from '../../verdict.ts';
import { findCauseHint } from './cause-hint.ts';

/** The failures of one worker in one session. */
export interface DelegationState {
  /** The name of the worker, once it has returned. */
  worker: string;
  failures: number;
  lastFailureAtMs: number;
  lastReason: string;
  /** The probable common cause of all failures, or empty. */
  hint: string;
  /** Whether the last delegation failed and no other was admitted since. */
  failedLast: boolean;
}

/** Failures by worker name, as a graph's state holds them. */
export type FailureCounts = Readonly<Record<string, number>>;

/** Types of subagents that hosts use for any work. They do not identify a worker; type and prompt do. */
const catchAllTypes: ReadonlySet<string> = new Set(['general-purpose', 'default', 'claude', 'general']);
const anyPrompt = '#*';

/** The worker name of a host's subagent: its type, and for a catch-all type also the fingerprint of its prompt. */
export function subagentWorker(type: string, promptFingerprint: () => number): string {
  return catchAllTypes.has(type) ? `${type}#${(promptFingerprint() >>> 0).toString(16)}` : type;
}

/** The name under which all workers of one catch-all type count together; undefined for any other worker. */
export function catchAllWorker(worker: string): string | undefined {
  const type = /^(.+)#[0-9a-f]{1,8}$/.exec(worker)?.[1];
  return type !== undefined && catchAllTypes.has(type) ? type + anyPrompt : undefined;
}

/** The type of a catch-all worker with any prompt; undefined for any other worker. */
export function catchAllTypeOf(worker: string): string | undefined {
  const type = worker.endsWith(anyPrompt) ? worker.slice(0, -anyPrompt.length) : '';
  return catchAllTypes.has(type) ? type : undefined;
}

/** The failure limit of one worker, or of all workers of a catch-all type together. */
export function workerLimit(settings: DelegationSettings, worker: string): number {
  const type = catchAllTypeOf(worker);
  if (type === undefined) return readOwn(settings.workerLimits, worker) ?? settings.maxFailures;
  return readOwn(settings.workerLimits, type) ?? Math.max(catchAllFailuresMax, settings.maxFailures);
}

/** Seconds after the last failure of a worker in no known conversation until its count is forgotten (D46). */
const unknownResetSecs = 60;

/**
 * The settings for delegations outside any task. There is nothing to halt, so a trip refuses the worker; and unless the
 * session is a known conversation, failures are forgotten (R38).
 */
export function delegationOutsideTasks(settings: DelegationSettings, isConversation: boolean): DelegationSettings {
  const forgetting = isConversation ? {} : { resetAfterSecs: unknownResetSecs };
  return { ...forgetting, ...settings, onTrip: 'deny', onFailure: 'retry' };
}

/** Whether an action counts: every delegation, and tools if the settings include them. */
export function isCounted(settings: DelegationSettings, action: Pick<Action, 'kind' | 'name'>): boolean {
  if (action.kind === 'delegation') return true;
  return action.kind === 'tool' && (settings.tools || readOwn(settings.workerLimits, action.name) !== undefined);
}

/**
 * Creates the control. Delegations are counted when they return, host-run workers and plain tools when they settle.
 * With `joint` it counts all workers of a catch-all type under that name.
 */
export function delegation(settings: DelegationSettings, joint?: string): Control<DelegationState> {
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
    state.worker = (joint ?? worker).slice(0, nameLengthMax);
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
      const worker = joint ?? action.name;
      if (failures >= workerLimit(settings, worker)) {
        if (settings.onTrip === 'halt') return { ...stop('halt', state, worker, failures), ends: 'root' };
        const refusal = stop('deny', state, worker, failures);
        // The reset requires strictly more than its time, hence the 1.
        return Number.isFinite(resetMs) ? { ...refusal, retryAtMs: state.lastFailureAtMs + resetMs + 1 } : refusal;
      }
      const retryAtMs = state.lastFailureAtMs + Math.min(2 ** failures * 1000, timerMaxMs);
      if (!settings.backoff || joint !== undefined || atMs >= retryAtMs) return allow;
      return { ...stop('wait', state, worker, failures), retryAtMs };
    },

    apply(state, event) {
      switch (event.type) {
        case 'delegation-returned':
          if (event.failed) return fail(state, event.worker, event.reason, event.atMs);
          if (state.failedLast) state.failedLast = false; // A success does not clear the count.
          return state;
        case 'action-settled': {
          const { action } = event.permit;
          // A delegation by `gear.delegate` settles as neutral and is counted when it returns: never twice.
          if (event.outcome.kind !== 'failure' || !isCounted(settings, action)) return state;
          return fail(state, action.name, event.outcome.error, event.atMs);
        }
        case 'action-decided':
          if (state.failedLast && event.verdict.kind === 'allow' && isCounted(settings, event.action)) {
            state.failedLast = false;
          }
          return state;
        default:
          return state; // No other event concerns workers.
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

/** Adds one failure in a new map. A full map drops the worker with the fewest failures. */
export function recordFailure(counts: FailureCounts, worker: string): FailureCounts {
  const name = worker.slice(0, nameLengthMax);
  const next: Record<string, number> = { ...counts, [name]: Math.min(failuresOf(counts, name) + 1, unreadableCount) };
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

/** Whether a worker has fewer failures than the limit. */
export function mayDelegate(counts: FailureCounts, worker: string, limit: number): boolean {
  return failuresOf(counts, worker) < limit;
}

/** The failures of a worker. A count that cannot be read is above every limit. */
export function failuresOf(counts: FailureCounts, worker: string): number {
  const count: unknown = readOwn(counts, worker.slice(0, nameLengthMax)) ?? 0;
  const number = typeof count === 'string' && /^\d+$/.test(count) ? Number(count) : count;
  const isReadable = typeof number === 'number' && number >= 0;
  return isReadable ? Math.min(Math.floor(number), unreadableCount) : unreadableCount;
}

/** The failures of a worker whose count cannot be read. */
export const unreadableCount = Number.MAX_SAFE_INTEGER;

/** Reads an own property of a record: a foreign name could match an inherited property. */
function readOwn<V>(record: Readonly<Record<string, V>>, name: string): V | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
