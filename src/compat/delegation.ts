/**
 * Delegation counts inside a graph's own state: two pure functions and a constant, for supervisors that keep the state.
 */

import {
  type FailureCounts,
  failuresOf,
  mayDelegate,
  recordFailure,
  unreadableCount,
} from '../core/controls/delegation/delegation.ts';
import { blockReason, failureLines, tripLine } from '../core/controls/delegation/messages.ts';
import { SwitchgearError } from '../core/error.ts';
import { cleanLine } from '../core/foreign-text.ts';
import { callUnawaited } from '../core/thenable.ts';

/** Failed delegations after which a worker is refused. */
export const MAX_DELEGATION_FAILURES = 2;

/** The part of a graph's state that the functions read. */
export interface DelegationFailuresState {
  readonly delegation_failures?: FailureCounts | null | undefined;
}

/** The state update that a node returns. */
export interface DelegationFailuresUpdate {
  readonly delegation_failures: FailureCounts;
}

/** Receives log lines. @default writes to standard error */
export type Log = (line: string) => void;

/** The two functions with one limit. */
export interface DelegationBreaker {
  readonly maxFailures: number;
  recordDelegationFailure(state: DelegationFailuresState, worker: string, reason: string): DelegationFailuresUpdate;
  checkCircuitBreaker(state: DelegationFailuresState, worker: string): [mayDelegate: boolean, reason: string];
}

/** Creates both functions with another limit: 3 is lenient, 1 trips on the first failure. */
export function delegationBreaker(
  options: { readonly maxFailures?: number; readonly log?: Log } = {},
): DelegationBreaker {
  const { maxFailures = MAX_DELEGATION_FAILURES, log = toStandardError } = options;
  if (!isLimit(maxFailures)) {
    throw new SwitchgearError('invalid_limit', `maxFailures must be a whole number from 1, got ${String(maxFailures)}`);
  }
  return {
    maxFailures,
    recordDelegationFailure: (state, worker, reason) => recordWithLimit(state, worker, reason, maxFailures, log),
    checkCircuitBreaker: (state, worker) => checkCircuitBreaker(state, worker, maxFailures),
  };
}

/** Records a failure of a worker. Returns the state update with a new map and leaves the state unchanged. */
export function recordDelegationFailure(
  state: DelegationFailuresState | null | undefined,
  worker: string,
  reason: string,
  log: Log = toStandardError,
): DelegationFailuresUpdate {
  return recordWithLimit(state, worker, reason, MAX_DELEGATION_FAILURES, log);
}

/** Returns whether a worker may be delegated to, and if not, why. An unreadable state is refused. */
export function checkCircuitBreaker(
  state: DelegationFailuresState | null | undefined,
  worker: string,
  limit: number = MAX_DELEGATION_FAILURES,
): [mayDelegate: boolean, reason: string] {
  // An invalid limit must not switch the breaker off.
  const inForce = isLimit(limit) ? limit : MAX_DELEGATION_FAILURES;
  try {
    const counts = readCounts(state);
    if (mayDelegate(counts, String(worker), inForce)) return [true, ''];
    const failures = failuresOf(counts, String(worker));
    return [false, failures === unreadableCount ? unreadableReason : blockReason(String(worker), failures, inForce)];
  } catch {
    return [false, unreadableReason];
  }
}

const unreadableReason = 'CIRCUIT BREAKER: delegation_failures cannot be read';

function recordWithLimit(
  state: DelegationFailuresState | null | undefined,
  worker: string,
  reason: string,
  limit: number,
  log: Log,
): DelegationFailuresUpdate {
  const name = String(worker);
  const counts = recordFailure(readCountsOrLimit(state, name, limit), name);
  const count = failuresOf(counts, name);
  const lines: string[] = failureLines(name, count, limit, String(reason));
  if (count >= limit) lines.push(tripLine(name, count, limit));
  for (const line of lines) writeLog(log, line);
  return { delegation_failures: counts };
}

/** Reads the counts. Where they cannot be read, this failure reaches the limit: earlier ones may be lost. */
function readCountsOrLimit(
  state: DelegationFailuresState | null | undefined,
  worker: string,
  limit: number,
): FailureCounts {
  const atLimit = { [worker]: limit - 1 };
  try {
    const counts = { ...readCounts(state) };
    return failuresOf(counts, worker) === unreadableCount ? { ...counts, ...atLimit } : counts;
  } catch {
    return atLimit;
  }
}

function readCounts(state: DelegationFailuresState | null | undefined): FailureCounts {
  const counts: unknown = state?.delegation_failures ?? {};
  if (counts instanceof Map) return Object.fromEntries(counts) as FailureCounts;
  if (typeof counts === 'object' && !Array.isArray(counts)) return counts as FailureCounts;
  throw new TypeError('delegation_failures is no map');
}

function isLimit(limit: unknown): limit is number {
  return Number.isInteger(limit) && (limit as number) >= 1;
}

function writeLog(log: Log, line: string): void {
  // A log function that throws must not lose the count.
  callUnawaited(
    () => log(line),
    () => {},
  );
}

function toStandardError(line: string): void {
  process.stderr.write(`${cleanLine(line)}\n`);
}
