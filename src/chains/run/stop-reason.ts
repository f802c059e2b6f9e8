/** Why a run stops before its last step: a rule, a person, a limit, a failure, or a store that rejects the write. */

import type { Refusal } from '../../core/refusal.ts';
import type { RuleCheckResult } from './state/check-rules.ts';
import type { RunEnd } from './state/run-state.ts';
import type { ActiveRun } from './storage/active-run.ts';
import type { RunWriteResult } from './storage/runs.ts';

/** The end of a run before its last step; `parked` leaves the run open until its question is answered. */
export type StopReason =
  | { readonly status: 'failed' | 'aborted' | 'throttled' | 'cancelled'; readonly end: RunEnd }
  | 'parked'
  | 'lost';

/** Converts a refusal to the end of a run. */
export function stopForRefusal(active: ActiveRun, refusal: Refusal, { rows }: RuleCheckResult): StopReason {
  if (active.lost) return 'lost';
  const { code, explanation, retryAtMs } = refusal;
  if (active.signal.aborted) return { status: 'cancelled', end: { code: 'cancelled', message: explainCancel(active) } };
  const action = code === 'rule_abort' ? 'abort' : code === 'rule_throttled' ? 'throttle' : 'confirm';
  const fired = code.startsWith('rule_') ? rows.filter((row) => row.fired && row.action === action) : [];
  const end: RunEnd = {
    code,
    message: explanation + explainMissingValues(explanation, fired),
    ...(fired.length > 0 && { rules: fired.map(({ rule }) => rule) }),
    ...(retryAtMs !== undefined && { retryAtMs }),
  };
  return { status: code === 'rule_throttled' ? 'throttled' : code === 'internal_error' ? 'failed' : 'aborted', end };
}

/** Adds to the reason that a rule fired because its key had no value. */
function explainMissingValues(explanation: string, fired: RuleCheckResult['rows']): string {
  const why = fired.flatMap(({ rule, value }) => {
    const key = /^[^|]*\|([^|>]+)>/.exec(rule)?.[1];
    return key !== undefined && /^(missing|unreadable|not a number)$/.test(value) ? [`${key} is ${value}`] : [];
  });
  const missing = [...new Set(why)].filter((text) => !explanation.includes(text));
  return missing.length === 0 ? '' : ` (${missing.join(', ')})`;
}

function explainCancel({ signal }: ActiveRun): string {
  const { reason } = signal as { readonly reason: unknown };
  return reason instanceof Error && reason.name !== 'AbortError' ? reason.message : 'the caller cancelled the run';
}

/** The end of a run whose store rejected a write: unreachable, full, or another process owns the run. */
export function stopForStore(result: RunWriteResult): StopReason {
  if (result.status === 'rejected' && !result.full) return 'lost';
  const why = result.status === 'unavailable' ? result.reason : 'it is full';
  const message = `the store did not accept the state of the run (${why}): resume the run when the store is available`;
  return { status: 'aborted', end: { code: 'store_away', message } };
}
