/**
 * The route of a call, the same for every entry: propose judges it, in rounds if it may wait; settle reads its ending
 * once. Entries differ only in who runs the call and in how a refusal is delivered.
 */

import { type Action, type Cost, cancelled, type Outcome, type Permit, success } from '../../core/action.ts';
import type { Ending } from '../../core/classify.ts';
import { readFailureStatus, readFailureText } from '../../core/messages/shown-error.ts';
import type { GuardOptions } from '../call-options.ts';
import { countError } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { haltUnpriced } from '../tasks/halt.ts';
import { checkLimits, recordPermitEvent } from '../tasks/task-events.ts';
import {
  type AdmitResult,
  admitAction,
  isStop,
  needsAnotherRound,
  refuseForGood,
  type Settlement,
} from './admission.ts';
import type { CallSite } from './call-site.ts';
import { describeTimeout, failureOfTimeout, type LeasedCall, settleCall } from './live-call.ts';
import { readOutcome, readPartialCost, readSettlement } from './outcome.ts';
import { type JudgedCall, laterRounds, type RoundsResult } from './rounds.ts';

/** The ending of a call, or `cancelled` if it is unknown. */
export type CallEnding = Ending | { readonly cancelled: true };

const ignored: Outcome = Object.freeze({ kind: 'neutral', why: 'ignored' });

/** Judges an action whose caller cannot wait: a verdict that waits or asks becomes a refusal. */
export function proposeOnce(runtime: Runtime, site: CallSite, action: Action, atMs: number): AdmitResult {
  const result = admitAction(runtime, site, action, atMs);
  return isStop(result) && needsAnotherRound(result) ? refuseForGood(runtime, site, action, result) : result;
}

/** Judges an action whose caller can wait, in rounds, until its call begins or is refused. */
export async function proposeInRounds<T>(runtime: Runtime, call: JudgedCall<T>): Promise<RoundsResult<T>> {
  const first = admitAction(runtime, call.site, call.act(), runtime.clock.nowMs());
  if (!isStop(first)) return { begun: call.begin(first, () => true) };
  return needsAnotherRound(first) ? laterRounds(runtime, call, first) : { stop: first };
}

/** How the ending of a call is read. */
export interface EndingOptions {
  /** The call was not interrupted at its timeout, so an ending after the timeout counts as a timeout. */
  readonly isUncut?: boolean;
  /** Returns the part of the result by which results are compared. */
  readonly shown?: ((value: unknown) => unknown) | undefined;
  /** The stream that was not read to its end: without usage it costs what was reserved. */
  readonly partial?: object | undefined;
}

/** Settles a call by its ending, once. The ending of a call that was given up frees its slot and counts its cost. */
export function settleEnding(
  runtime: Runtime,
  call: LeasedCall,
  ending: CallEnding,
  options: GuardOptions = {},
  { isUncut = false, shown, partial }: EndingOptions = {},
): void {
  if (call.settled) {
    settleLate(runtime, call, ending, options, partial);
    return;
  }
  const { site, permit } = call;
  let outcome: Outcome = cancelled;
  let settlement: Settlement = {};
  let atMs = permit.atMs;
  try {
    atMs = runtime.clock.nowMs();
    const isLate = isUncut && site.timeoutMs > 0 && atMs - permit.atMs > site.timeoutMs;
    if (!('cancelled' in ending)) {
      outcome = isLate ? failureOfTimeout : readOutcome(call, ending, options, atMs);
      const read = shown !== undefined && 'value' in ending ? { value: shown(ending.value) } : ending;
      settlement = readSettlement(runtime, site, read, options, outcome, permit.action);
      if (outcome.kind === 'failure') settlement = { ...settlement, ...describeFailure(site, ending, isLate) };
    }
    if (partial !== undefined) {
      settlement = { ...settlement, cost: readPartialCost(runtime, site, partial, options, permit.action) };
    }
  } catch (error) {
    countError(runtime, 'settle', error);
    // The ending could not be read, or the host's classify or usage threw.
    // The slot is free, and the reserved cost counts as spent.
    const { worstMicros: micros, worstTokens: tokens } = permit.action;
    outcome = ignored;
    settlement = { cost: { micros, tokens } };
  }
  settleCall(runtime, call, outcome, settlement, atMs);
}

function describeFailure(
  { timeoutMs }: CallSite,
  ending: Ending,
  isLate: boolean,
): Pick<Settlement, 'failureText' | 'failureStatus'> {
  if (isLate) return { failureText: describeTimeout(timeoutMs) };
  return { failureText: readFailureText(ending), failureStatus: readFailureStatus(ending) };
}

/**
 * Settles the late ending of a call that was given up: frees its slot, and replaces its reservation by its cost in one
 * step. An unknown usage costs what was reserved, because the work was done or cut off, and nobody knows how far.
 */
function settleLate(
  runtime: Runtime,
  call: LeasedCall,
  ending: CallEnding,
  options: GuardOptions,
  partial: object | undefined,
): void {
  const { site, permit } = call;
  const { task } = site;
  let late: Pick<Settlement, 'cost' | 'unpricedModel'>;
  try {
    late = readLateCost(runtime, call, ending, options, partial);
  } catch (error) {
    countError(runtime, 'settle', error);
    late = { cost: reservedCost(permit) };
  }
  try {
    recordPermitEvent(runtime, 'work-ended', site, permit, late.cost);
    site.breaker?.queue?.call();
    if (task === undefined) return;
    const atMs = runtime.clock.nowMs();
    if (late.cost !== undefined) checkLimits(runtime, task, atMs);
    if (late.unpricedModel !== undefined) haltUnpriced(runtime, task, late.unpricedModel, atMs);
  } catch (error) {
    countError(runtime, 'settle', error);
  }
}

function readLateCost(
  runtime: Runtime,
  { site, permit }: LeasedCall,
  ending: CallEnding,
  options: GuardOptions,
  partial: object | undefined,
): Pick<Settlement, 'cost' | 'unpricedModel'> {
  const { action } = permit;
  if (partial !== undefined) return { cost: readPartialCost(runtime, site, partial, options, action) };
  if (!('value' in ending)) return { cost: reservedCost(permit) };
  return readSettlement(runtime, site, ending, options, success, action);
}

/** The reserved amounts as an estimated cost; undefined if nothing was reserved. */
function reservedCost({ action: { worstMicros: micros, worstTokens: tokens } }: Permit): Cost | undefined {
  return micros + tokens > 0 ? { micros, tokens, estimated: true } : undefined;
}
