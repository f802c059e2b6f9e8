/** Delegation counts in a graph's own state: two pure functions and a constant, for supervisors that hold the state. */

import { type FailureCounts, failuresOf, mayDelegate, recordFailure } from '../core/controls/delegation/delegation.ts';
import { blockReason, failureLines, tripLine } from '../core/controls/delegation/messages.ts';
import { SwitchgearError } from '../core/error.ts';

/** Failed delegations after which a worker is not delegated to any more. */
export const MAX_DELEGATION_FAILURES = 2;

/** The part of a graph's state that is read. */
export interface DelegationFailuresState {
  readonly delegation_failures?: FailureCounts | null | undefined;
}

/** What a node returns to change it. */
export interface DelegationFailuresUpdate {
  readonly delegation_failures: FailureCounts;
}

/** Takes log lines; the standard error stream unless said. */
export type Log = (line: string) => void;

export interface DelegationBreaker {
  readonly maxFailures: number;
  recordDelegationFailure(state: DelegationFailuresState, worker: string, reason: string): DelegationFailuresUpdate;
  checkCircuitBreaker(state: DelegationFailuresState, worker: string): [mayDelegate: boolean, reason: string];
}

/** Both functions with a limit of your own: 3 is lenient, 1 trips on the first failure. */
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

/** Books a failure on a worker: the state's update, with a new map. The state itself is not touched. */
export function recordDelegationFailure(
  state: DelegationFailuresState | null | undefined,
  worker: string,
  reason: string,
  log: Log = toStandardError,
): DelegationFailuresUpdate {
  return recordWithLimit(state, worker, reason, MAX_DELEGATION_FAILURES, log);
}

/** Whether a worker may be delegated to, and if not, why. What cannot be read is refused. */
export function checkCircuitBreaker(
  state: DelegationFailuresState | null | undefined,
  worker: string,
  limit: number = MAX_DELEGATION_FAILURES,
): [mayDelegate: boolean, reason: string] {
  // A limit that is none must not switch the breaker off.
  const inForce = isLimit(limit) ? limit : MAX_DELEGATION_FAILURES;
  try {
    const counts = readCounts(state);
    if (mayDelegate(counts, String(worker), inForce)) return [true, ''];
    return [false, blockReason(String(worker), failuresOf(counts, String(worker)), inForce)];
  } catch {
    return [false, 'CIRCUIT BREAKER: delegation_failures cannot be read'];
  }
}

function recordWithLimit(
  state: DelegationFailuresState | null | undefined,
  worker: string,
  reason: string,
  limit: number,
  log: Log,
): DelegationFailuresUpdate {
  const name = String(worker);
  const counts = recordFailure(readCountsOrNone(state), name);
  const count = failuresOf(counts, name);
  const lines: string[] = failureLines(name, count, limit, String(reason));
  if (count >= limit) lines.push(tripLine(name, count, limit));
  for (const line of lines) writeLog(log, line);
  return { delegation_failures: counts };
}

/** The counts, or none where they cannot be read: the failure at hand is booked all the same. */
function readCountsOrNone(state: DelegationFailuresState | null | undefined): FailureCounts {
  try {
    return { ...readCounts(state) };
  } catch {
    return {};
  }
}

function readCounts(state: DelegationFailuresState | null | undefined): FailureCounts {
  const counts: unknown = state?.delegation_failures;
  return typeof counts === 'object' && counts !== null && !Array.isArray(counts) ? (counts as FailureCounts) : {};
}

function isLimit(limit: unknown): limit is number {
  return Number.isInteger(limit) && (limit as number) >= 1;
}

function writeLog(log: Log, line: string): void {
  try {
    log(line);
  } catch {
    // A log that fails must not cost the count.
  }
}

function toStandardError(line: string): void {
  process.stderr.write(`${line}\n`);
}
