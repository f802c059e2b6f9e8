/**
 * The breaker: refuses calls to a target that keeps failing. It has no timer; time passes only in events.
 * Closed admits and counts; open refuses until its retry time; half-open admits a few probes.
 */

import type { Outcome } from '../../action.ts';
import type { BreakerSettings } from '../../settings.ts';
import { allow, type Code, type Counters, type Stop, type Verdict } from '../../verdict.ts';
import { askedToWait, closeBreaker, halfOpenBreaker, openBreaker, waitMs } from './phases.ts';
import type { BreakerState } from './state.ts';
import { beginRunning, bucketSums, countOverdue, endRunning, recordFinishedCall, ringSums } from './window.ts';

/** The part of an admission that the settlement needs. */
export interface AdmittedCall {
  readonly id: string | number;
  readonly generation: number;
  readonly probe: boolean;
  readonly atMs: number;
}

type Failure = Extract<Outcome, { kind: 'failure' }>;

/** The retry hint while a probe is running. */
const probeHintMs = 1_000;

/** Returns the verdict of the breaker on a call. */
export function judgeBreaker(state: BreakerState, settings: BreakerSettings, atMs: number): Verdict {
  if (settings.mode !== 'enforce') return allow;
  return refusalAt(state, settings, atMs) ?? allow;
}

/** Returns the refusal in `enforce` mode, or undefined. Never writes. */
export function refusalAt(state: BreakerState, settings: BreakerSettings, atMs: number): Stop | undefined {
  const { maxConcurrent } = settings;
  if (state.heldAtMs >= 0) return deny('circuit_open', { held: 1, ...failureCounters(state, settings) });
  if (maxConcurrent !== undefined && state.inFlight >= maxConcurrent) {
    const stop = deny('concurrency_limit', { actual: state.inFlight, limit: maxConcurrent }, atMs + probeHintMs);
    return settings.maxQueue > 0 ? { ...stop, kind: 'wait' } : stop;
  }
  const untilMs = refusedUntil(state, settings, atMs);
  if (untilMs === null) return undefined;
  return deny('circuit_open', failureCounters(state, settings), untilMs);
}

/** Until when calls are refused: null = a call may pass, undefined = manual recovery, without an end time. */
function refusedUntil(state: BreakerState, settings: BreakerSettings, atMs: number): number | null | undefined {
  switch (state.phase) {
    case 'closed':
      return isSlow(state, settings, atMs) ? atMs + waitMs(state, settings) : null;
    case 'open':
      return isDue(state, atMs) ? null : state.openUntilMs < 0 ? undefined : state.openUntilMs;
    case 'half-open': {
      const expired = countExpired(state, atMs);
      if (expired > 0 && settings.leaseExpiry === 'failure') return atMs + waitMs(state, settings);
      return state.probes.length - expired < settings.halfOpenPermits ? null : atMs + probeHintMs;
    }
  }
}

function deny(code: Code, counters: Counters, retryAtMs?: number): Stop {
  return { kind: 'deny', code, control: 'breaker', counters, ...(retryAtMs !== undefined && { retryAtMs }) };
}

/** The cause of an opening by the failure threshold. */
const failuresCause = 'failures';

function failureCounters(state: BreakerState, settings: BreakerSettings): Counters {
  const { run, streak, phase, cause, openedAtMs, openUntilMs } = state;
  const { failureThreshold: limit, recovery, recoveryTimeoutSecs } = settings;
  // The count towards the threshold starts over when the breaker opens.
  const failures = Math.max(run, streak, cause === failuresCause ? limit : 0);
  const periodMs = phase === 'open' && openUntilMs >= 0 ? openUntilMs - openedAtMs : 1000 * recoveryTimeoutSecs;
  const wait_secs = recovery === 'manual' ? 'manual' : Math.round(periodMs / 100) / 10;
  return { failures, limit, wait_secs, ...(cause !== '' && { cause }) };
}

function isDue(state: BreakerState, atMs: number): boolean {
  return state.openUntilMs >= 0 && atMs >= state.openUntilMs;
}

function countExpired(state: BreakerState, atMs: number): number {
  let expired = 0;
  for (const probe of state.probes) if (atMs >= probe.endMs) expired++;
  return expired;
}

/** Applies the changes that time alone causes: expired leases, running calls that became slow. */
export function advanceBreaker(state: BreakerState, settings: BreakerSettings, atMs: number): void {
  if (settings.mode === 'off') return;
  if (state.phase === 'closed') {
    if (state.running !== null && isSlow(state, settings, atMs)) openBreaker(state, settings, atMs, 'slow calls');
  } else if (state.phase === 'half-open' && countExpired(state, atMs) > 0) {
    if (settings.leaseExpiry === 'failure') openBreaker(state, settings, atMs, 'a probe that never came back');
    else state.probes = state.probes.filter((probe) => atMs < probe.endMs);
  }
}

/** Records an admission and, in half-open, its probe. */
export function recordAdmission(
  state: BreakerState,
  settings: BreakerSettings,
  id: string | number,
  atMs: number,
): AdmittedCall {
  let probe = false;
  state.inFlight++; // Also in mode `off`, so that the count is right if the breaker is switched on again.
  if (settings.mode !== 'off') {
    advanceBreaker(state, settings, atMs);
    if (state.phase === 'open' && isDue(state, atMs)) halfOpenBreaker(state, atMs);
    probe = state.phase === 'half-open' && state.probes.length < settings.halfOpenPermits;
    if (probe) state.probes = [...state.probes, { id, endMs: atMs + settings.leaseSecs * 1000 }];
    state.requests++;
    beginRunning(state, settings, atMs);
  }
  return { id, generation: state.generation, probe, atMs };
}

/** Counts a refusal. A refusal is not a failure and changes no phase. */
export function countRefusal(state: BreakerState, settings: BreakerSettings, atMs: number): void {
  advanceBreaker(state, settings, atMs);
  state.requests++;
  state.refused++;
}

/** Records the outcome of an admitted call. A late outcome, of an earlier generation, changes statistics only. */
export function recordSettlement(
  state: BreakerState,
  settings: BreakerSettings,
  admitted: AdmittedCall,
  outcome: Outcome,
  atMs: number,
  stillRuns = false,
): void {
  if (!stillRuns) endWork(state);
  if (settings.mode === 'off') return;
  if (admitted.generation !== state.generation || state.phase === 'open') {
    state.late++;
    return;
  }
  endRunning(state, settings, admitted.atMs, atMs);
  const slow = settings.slowCallSecs !== undefined && atMs - admitted.atMs > settings.slowCallSecs * 1000;
  const isProbe = state.phase === 'half-open';
  if (isProbe) {
    const otherProbes = state.probes.filter((probe) => probe.id !== admitted.id);
    if (!admitted.probe || otherProbes.length === state.probes.length) {
      state.late++; // Its lease expired before, or it was admitted without one.
      return;
    }
    state.probes = otherProbes;
  }
  if (outcome.kind === 'neutral') {
    state.neutrals++; // Neutral: only the slot of the probe is freed.
    return;
  }
  const failed = outcome.kind === 'failure';
  if (failed) fail(state, settings, outcome);
  else succeed(state, settings);
  // A requested wait is capped, so that a callee cannot keep its breaker open for ever.
  const retryAtMs = failed ? outcome.retryAtMs : undefined;
  const untilMs = Math.min(retryAtMs ?? atMs, atMs + settings.recoveryMaxSecs * 1000);
  let cause = failed ? 'a failed probe' : slow ? 'a slow probe' : '';
  if (!isProbe) {
    recordFinishedCall(state, settings, failed, slow, atMs);
    cause = failed ? failureCause(state, settings, untilMs, atMs) : '';
    if (cause === '' && (failed || slow) && isSlow(state, settings, atMs)) cause = 'slow calls';
  }
  if (cause !== '') openBreaker(state, settings, atMs, cause, untilMs);
  else if (isProbe && ++state.probeSuccesses >= settings.successThreshold) closeBreaker(state);
}

/** Counts a success while closed and without time windows: the most common outcome, in one step. */
export function countSuccess(state: BreakerState, settings: BreakerSettings): void {
  endWork(state);
  succeed(state, settings);
  state.ringAt++;
}

/** Counts a failure while closed, if only failures in a row trip. Returns false if this failure may trip. */
export function countFailure(state: BreakerState, settings: BreakerSettings, failure: Failure): boolean {
  if (state.run + 1 >= settings.failureThreshold || failure.retryAtMs !== undefined) return false;
  endWork(state);
  fail(state, settings, failure);
  recordFinishedCall(state, settings, true, false, 0);
  return true;
}

/** Frees the slot of a call whose work has ended. */
export function endWork(state: BreakerState): void {
  if (state.inFlight > 0) state.inFlight--;
}

/** A success ends a row of failures, unless failures are cumulative. */
function succeed(state: BreakerState, settings: BreakerSettings): void {
  state.successes++;
  state.streak = 0;
  if (settings.trip === 'consecutive') state.run = 0;
}

/** Counts a failure towards the threshold, or starts over with a different error. */
function fail(state: BreakerState, { sameErrorOnly }: BreakerSettings, { errorFingerprint }: Failure): void {
  state.failures++;
  state.streak++;
  state.run = sameErrorOnly && errorFingerprint !== state.runError ? 1 : state.run + 1;
  state.runError = errorFingerprint;
}

/** Returns why a failure opens the breaker, or an empty string. */
function failureCause(state: BreakerState, settings: BreakerSettings, untilMs: number, atMs: number): string {
  if (settings.openOnRetryAfter && untilMs > atMs) return askedToWait;
  if (countedFailures(state, settings, atMs) >= settings.failureThreshold) return failuresCause;
  const rate = settings.failureRateThreshold;
  if (rate === undefined) return '';
  const { calls, failures } = rateSums(state, settings, atMs);
  return calls >= settings.minimumCalls && failures / calls >= rate ? 'the failure rate' : '';
}

/** Failures towards the threshold, as the `trip` setting counts them. */
export function countedFailures(state: BreakerState, settings: BreakerSettings, atMs: number): number {
  switch (settings.trip) {
    case 'consecutive':
    case 'cumulative':
      return state.run;
    case 'count_window':
      return ringSums(state, settings).failures;
    case 'time_window':
      return bucketSums(state, settings, atMs).failures;
  }
}

/** The sums of the window that rates are computed from. */
export function rateSums(state: BreakerState, settings: BreakerSettings, atMs: number) {
  return settings.rateWindow === 'calls' ? ringSums(state, settings) : bucketSums(state, settings, atMs);
}

/** Whether the share of slow calls, running calls included, reaches the threshold. */
function isSlow(state: BreakerState, settings: BreakerSettings, atMs: number): boolean {
  if (settings.slowCallSecs === undefined) return false;
  const overdue = countOverdue(state, settings, atMs);
  const sums = rateSums(state, settings, atMs);
  const calls = sums.calls + overdue;
  return calls >= settings.minimumCalls && (sums.slow + overdue) / calls >= settings.slowRateThreshold;
}

/** Renews the lease of a probe whose owner is alive. */
export function renewProbe(state: BreakerState, settings: BreakerSettings, admitted: AdmittedCall, atMs: number): void {
  if (!admitted.probe || admitted.generation !== state.generation) return;
  const probe = state.probes.find((candidate) => candidate.id === admitted.id);
  if (probe !== undefined && atMs < probe.endMs) probe.endMs = atMs + settings.leaseSecs * 1000;
}
