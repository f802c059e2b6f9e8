/** Reads how a guarded call ended. */

import { type Action, type Cost, cancelled, type Outcome } from '../../core/action.ts';
import type { Ending } from '../../core/classify.ts';
import { classify, firstText, noLists, peek, readError } from '../../core/classify.ts';
import { saysNothingFound } from '../../core/controls/loop/effect.ts';
import { markError, repeatsError } from '../../core/controls/loop/past-calls.ts';
import { markResult } from '../../core/controls/loop/result-mark.ts';
import { requireSync } from '../../core/thenable.ts';
import type { Usage } from '../../ports/prices.ts';
import type { GuardOptions } from '../call-options.ts';
import { errorMark } from '../runtime/fingerprint.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { findUnpricedModel, priceUsage, type ReservedCost } from '../tasks/cost.ts';
import type { Settlement } from './admission.ts';
import type { CallSite } from './call-site.ts';
import type { LeasedCall } from './live-call.ts';

/** Reads the outcome of a call from its ending. */
export function readOutcome(call: LeasedCall, ending: Ending, options: GuardOptions, atMs: number): Outcome {
  const { breaker, task } = call.site;
  if (foundNothing(call.permit.action, ending)) return { kind: 'success' };
  const classified = requireSync('classify', options.classify?.(ending));
  if (classified === 'success') return { kind: 'success' };
  if (classified === 'neutral') return { kind: 'neutral', why: 'ignored' };
  if (classified === 'failure') {
    const { names, message } = 'error' in ending ? readError(ending.error) : { names: ['ToolError'], message: '' };
    return { kind: 'failure', error: names[0]!, errorFingerprint: errorMark(names[0]!, message).exact };
  }
  // A halted task has cancelled its calls, so their errors do not count for the tool.
  if ('error' in ending && task?.halt !== undefined && call.aborted === true) return cancelled;
  const memory = task?.cells.loop?.state.memory ?? null;
  const { action, atMs: beganMs } = call.permit;
  let isRepeat = false;
  const outcome = classify(ending, breaker?.settings ?? noLists, atMs, (name, message) => {
    const mark = errorMark(name, message);
    if (memory === null) return mark.exact;
    isRepeat = repeatsError(memory, action, mark);
    return markError(memory, action, mark, atMs - beganMs);
  });
  // The same call with the same error says no more about the tool: that call is refused, and not the whole tool.
  return isRepeat && outcome.kind === 'failure' ? { kind: 'neutral', why: 'ignored' } : outcome;
}

/** Whether a search ended with an error that only says that there was no match. */
function foundNothing({ searches }: Action, ending: Ending): boolean {
  if (searches !== true) return false;
  if ('error' in ending) return saysNothingFound(ending.error);
  return peek(ending.value, 'isError') === true && saysNothingFound(firstText(ending.value as object));
}

/** The mark of a success without a result, which is common. */
const nothing = markResult(undefined, true);

/** Reads the settlement data of a call: its cost, the mark of its result, the output rules that fire. */
export function readSettlement(
  runtime: Runtime,
  site: CallSite,
  ending: Ending,
  options: GuardOptions,
  { kind }: Pick<Outcome, 'kind'>,
  reserved?: ReservedCost,
): Settlement {
  const { task, target, agent, place } = site;
  const isMarked = task !== undefined && target.kind === 'tool';
  const ok = kind === 'success';
  if (!('value' in ending)) return isMarked ? { result: markResult(ending.error, ok) } : {};
  const { value } = ending;
  const hits = runtime.rules?.matchResult(target.name, agent, value);
  const usage = requireSync('usage', options.usage?.(value as never));
  // A call for which money was reserved does not become free because its usage is missing.
  const isReserved = reserved !== undefined && reserved.worstMicros + reserved.worstTokens > 0;
  const isCharged = options.usage !== undefined && (isReserved || (usage !== undefined && usage !== null));
  return {
    cost: isCharged ? priceUsage(runtime, usage as Usage, place, undefined, reserved) : undefined,
    unpricedModel: usage && findUnpricedModel(runtime, usage),
    result: isMarked ? (ok && value === undefined ? nothing : markResult(value, ok)) : undefined,
    resultHits: hits?.length ? hits : undefined,
  };
}

/** The cost of a stream that was not read to its end: its usage so far, or else what was reserved, as an estimate. */
export function readPartialCost(
  runtime: Runtime,
  { place }: CallSite,
  stream: object,
  options: GuardOptions,
  reserved: ReservedCost,
): Cost | undefined {
  const { worstMicros: micros, worstTokens: tokens } = reserved;
  let usage: Partial<Usage> | undefined | null;
  try {
    usage = requireSync('usage', options.usage?.(stream as never)) as typeof usage;
  } catch {
    usage = undefined; // The usage of a stream may be unreadable before its end.
  }
  const { inputTokens, outputTokens, costUsd } = (usage ?? {}) as Readonly<Record<string, unknown>>;
  const isCounted = [inputTokens, outputTokens, costUsd].some((count) => typeof count === 'number' && count > 0);
  if (isCounted) return priceUsage(runtime, usage as Usage, place, undefined, reserved);
  return micros + tokens > 0 ? { micros, tokens, estimated: true } : undefined;
}
