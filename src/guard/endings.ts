/** Reads how a guarded call ended. */

import { cancelled, type Outcome } from '../core/action.ts';
import type { Ending } from '../core/classify.ts';
import { classify, readError } from '../core/classify.ts';
import { errorFingerprint, fingerprint } from './fingerprint.ts';
import type { GuardOptions } from './front-door.ts';
import type { Settling } from './guard.ts';
import type { LiveCall } from './live-calls.ts';
import type { Runner } from './run.ts';

/** Where there is no breaker, no error is on a list. */
export const noLists = { countErrors: [], ignoreErrors: [], sameErrorOnly: false };

/** What the ending of a call means for its tool. */
export function outcomeOf(call: LiveCall, ending: Ending, options: GuardOptions, atMs: number): Outcome {
  const said = options.classify === undefined ? undefined : options.classify(ending);
  const { breaker, task } = call.lane;
  const settings = breaker?.settings ?? noLists;
  if (said === 'success') return { kind: 'success' };
  if (said === 'neutral') return { kind: 'neutral', why: 'ignored' };
  if (said === 'failure') {
    const facts = 'error' in ending ? readError(ending.error) : undefined;
    const error = facts?.names[0] ?? 'ToolError';
    return { kind: 'failure', error, errorFingerprint: errorFingerprint(error, facts?.message ?? '') };
  }
  // A task that was halted has cancelled its calls: their errors say nothing about the tool.
  if ('error' in ending && task?.halt !== undefined && call.aborted) return cancelled;
  return classify(ending, settings, atMs, errorFingerprint);
}

/** What a call brings along when it ends: its cost, the print of its result, the rules on it that hold. */
export function settlingOf(
  runner: Runner,
  call: Pick<LiveCall, 'lane'>,
  ending: Ending,
  options: GuardOptions,
): Settling {
  const { task } = call.lane;
  const rules = runner.rules();
  const value = 'value' in ending ? ending.value : undefined;
  const hits = 'value' in ending ? rules?.matchResult(call.lane.target.name, call.lane.agent, value) : undefined;
  const usage = options.usage === undefined || !('value' in ending) ? undefined : options.usage(value as never);
  return {
    cost: usage === undefined ? undefined : runner.spending.costOf(usage, call.lane.place, runner.clock.nowMs()),
    resultFingerprint: task === undefined || !('value' in ending) ? undefined : fingerprint('', value),
    resultHits: hits === undefined || hits.length === 0 ? undefined : hits,
  };
}
