/**
 * The route of a call, the same for every entry: propose judges it, in rounds if it may wait; settle reads its ending
 * once. Entries differ only in who runs the call and in how a refusal is delivered.
 */

import { type Action, cancelled, type Outcome, success } from '../../core/action.ts';
import type { Ending } from '../../core/classify.ts';
import type { GuardOptions } from '../call-options.ts';
import { countError } from '../journal/journal.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { haltUnpriced } from '../tasks/halt.ts';
import { applyAndCheck, recordPermitEvent } from '../tasks/task-events.ts';
import {
  type AdmitResult,
  admitAction,
  isStop,
  needsAnotherRound,
  refuseForGood,
  type Settlement,
} from './admission.ts';
import type { CallSite } from './call-site.ts';
import { failureOfTimeout, type LeasedCall, settleCall } from './live-call.ts';
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

/** Settles a call by its ending, once. The ending of a call that timed out frees its slot and counts its cost. */
export function settleEnding(
  runtime: Runtime,
  call: LeasedCall,
  ending: CallEnding,
  options: GuardOptions = {},
  { isUncut = false, shown, partial }: EndingOptions = {},
): void {
  if (call.settled) {
    settleLate(runtime, call, ending, options);
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

function settleLate(runtime: Runtime, { site, permit }: LeasedCall, ending: CallEnding, options: GuardOptions): void {
  try {
    recordPermitEvent(runtime, 'work-ended', site, permit);
    if ('cancelled' in ending) return;
    const { cost, unpricedModel } = readSettlement(runtime, site, ending, options, success, permit.action);
    if (cost === undefined || site.task === undefined) return;
    const { name } = site.target;
    const atMs = runtime.clock.nowMs();
    applyAndCheck(runtime, site.task, { type: 'usage-observed', model: name, cost, basis: name }, atMs);
    if (unpricedModel !== undefined) haltUnpriced(runtime, site.task, unpricedModel, atMs);
  } catch (error) {
    countError(runtime, 'settle', error);
  }
}
