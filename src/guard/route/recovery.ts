/**
 * Answers for a call that failed: tries again after a wait, then calls the fallback. Each attempt is a call of its own,
 * which every control judges and counts; a refusal is never tried again.
 */

import { type Ending, readError } from '../../core/classify.ts';
import { isRefused, type Refusal, refusalOf } from '../../core/refusal.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import type { RetryOptions } from '../call-options.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { CallSite } from './call-site.ts';
import type { LeasedCall } from './live-call.ts';
import { sleepUntil } from './waiting.ts';

/** How often a failed call is tried again, and how long before each attempt. */
export interface RetryPlan {
  readonly retries: number;
  readonly baseMs: number;
  readonly maxWaitMs: number;
  readonly jitter: BreakerSettings['retryJitter'];
}

/** The plan of settings; undefined if calls are not tried again. */
export function readRetryPlan(settings: BreakerSettings): RetryPlan | undefined {
  const { retries, retryBaseSecs, retryMaxWaitSecs, retryJitter: jitter } = settings;
  if (retries === 0) return undefined;
  return { retries, baseMs: 1000 * retryBaseSecs, maxWaitMs: 1000 * retryMaxWaitSecs, jitter };
}

/** One attempt: the call that was admitted, or the refusal. */
export class CallAttempt {
  site: CallSite | undefined = undefined;
  call: LeasedCall | undefined = undefined;
  refusal: Refusal | undefined = undefined;
  /** The arguments of the call, if a person edited them. */
  args: readonly unknown[] | undefined = undefined;
}

/** A call that may be tried again. */
export interface RepeatedCall {
  readonly site: Pick<CallSite, 'task'>;
  readonly plan: RetryPlan | undefined;
  readonly when?: RetryOptions['when'];
  readonly signal?: AbortSignal | undefined;
  /** Whether a part of the result has reached the caller: then no attempt follows. */
  readonly isForwarded?: (() => boolean) | undefined;
  /** Makes an attempt. Errors that it throws or rejects with are those of the call. */
  begin(attempt: CallAttempt): unknown;
}

/** The last attempt of a call and its ending. */
export interface LastAttempt {
  readonly attempt: CallAttempt;
  readonly ending: Ending;
}

/** Waits for an attempt and tries again while its plan allows; throws the reason of the signal if it aborts a wait. */
export async function finishAttempts(
  runtime: Runtime,
  call: RepeatedCall,
  first: CallAttempt,
  firstResult: unknown,
): Promise<LastAttempt> {
  const { site, plan, when, signal } = call;
  let last: LastAttempt = { attempt: first, ending: await endingOfResult(() => firstResult) };
  for (let retry = 0; plan !== undefined && retry < plan.retries; retry++) {
    const failure = findFailure(last, signal);
    if (failure === undefined || isFinal(last) || call.isForwarded?.() || runtime.isDisposed) break;
    if (when === undefined ? !isTransient(last) : (await when(failure)) === false) break;
    const waitMs = delayBefore(runtime, plan, retry, last);
    if (waitMs === undefined) break;
    await sleepUntil(runtime, site, runtime.clock.nowMs() + waitMs, signal);
    if (runtime.isDisposed) break;
    const attempt = new CallAttempt();
    last = { attempt, ending: await endingOfResult(() => call.begin(attempt)) };
  }
  return last;
}

async function endingOfResult(run: () => unknown): Promise<Ending> {
  try {
    return { value: await run() };
  } catch (error) {
    return { error };
  }
}

/**
 * The failure of an attempt, which a fallback may answer: an error, a timeout, a value that counts as a failure, or an
 * open circuit. Undefined for a success, for every other refusal, and for a call that was cancelled or denied.
 */
export function findFailure({ attempt, ending }: LastAttempt, signal?: AbortSignal): Refusal | Error | undefined {
  const { call, refusal } = attempt;
  if (refusal !== undefined) return onlyOpenCircuit(refusal);
  if (call === undefined || signal?.aborted || call.site.task?.halt !== undefined) return undefined;
  const { outcome } = call;
  if ('value' in ending) {
    if (outcome?.kind !== 'failure' || isRefused(ending.value)) return undefined;
    return new Error(`'${call.site.target.name}' reported a failure`, { cause: ending.value });
  }
  const { error } = ending;
  const inner = refusalOf(error);
  if (inner !== undefined) return onlyOpenCircuit(inner);
  const isOwn =
    outcome?.kind === 'failure' ||
    (outcome?.kind === 'neutral' && (outcome.why === 'ignored' || outcome.why === 'unauthorized'));
  return isOwn ? asError(error) : undefined;
}

/** Whether a fallback answers for a refusal: an open circuit, and no rule, limit, halt or declined approval. */
export function isAnswerable({ code }: Refusal): boolean {
  return code === 'circuit_open';
}

function onlyOpenCircuit(refusal: Refusal): Refusal | undefined {
  return isAnswerable(refusal) ? refusal : undefined;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(readError(error).message || 'the call failed', { cause: error });
}

/** Whether no further attempt is made: after a refusal, and after a call that a person approved once. */
function isFinal({ attempt: { call, refusal }, ending }: LastAttempt): boolean {
  if (refusal !== undefined || call?.permit.action.approvedBy !== undefined) return true;
  return 'error' in ending && refusalOf(ending.error) !== undefined;
}

/** Whether a failure may pass by itself: it counts for the breaker, and the caller is not at fault. */
function isTransient({ attempt: { call } }: LastAttempt): boolean {
  return call?.outcome?.kind === 'failure';
}

/** The wait before a retry, in milliseconds; undefined if the callee asks for a longer one than the plan allows. */
function delayBefore(
  { clock }: Runtime,
  plan: RetryPlan,
  retry: number,
  { attempt: { call } }: LastAttempt,
): number | undefined {
  const { outcome } = call ?? {};
  const retryAtMs = outcome?.kind === 'failure' ? outcome.retryAtMs : undefined;
  return delayMs(plan, retry, retryAtMs === undefined ? undefined : retryAtMs - clock.nowMs());
}

/** The doubled wait before a retry, with jitter, at least as long as the callee asks; undefined if that is too long. */
export function delayMs(
  { baseMs, maxWaitMs, jitter }: RetryPlan,
  retry: number,
  askedMs: number | undefined,
): number | undefined {
  const whole = Math.min(baseMs * 2 ** retry, maxWaitMs);
  const fixed = jitter === 'none' ? whole : jitter === 'equal' ? whole / 2 : 0;
  const spread = fixed + Math.random() * (whole - fixed);
  if (askedMs === undefined || askedMs <= 0) return spread;
  return askedMs > maxWaitMs ? undefined : Math.min(askedMs + spread, maxWaitMs);
}
