/** The limits of sessions that may last for days and hold many pieces of work. */

import { unlimited } from '../../core/declare/setting.ts';
import { secsMax } from '../../core/limits.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';

/** Whether a policy sets a setting, in general or for an agent. */
function isSetByPolicy(policy: CheckedPolicy | undefined, path: string): boolean {
  return [...(policy?.provenance ?? [])].some(
    ([each, { source }]) => source !== 'default' && (each === path || each.endsWith(`.${path}`)),
  );
}

/** Calls and time are limited only if the policy says so. */
export function makeSessionLimits(policy: CheckedPolicy | undefined): Partial<TaskSettings> {
  const isOff = (path: string) => !isSetByPolicy(policy, `task.${path}`);
  return {
    ...(isOff('max_tool_calls') && { maxToolCalls: unlimited }),
    ...(isOff('max_duration_secs') && { maxDurationSecs: secsMax }),
    ...(isOff('max_idle_secs') && { maxIdleSecs: secsMax }),
  };
}

/** Whether a policy limits money or tokens. */
export function limitsSpend(policy: CheckedPolicy): boolean {
  const isSet = isSetByPolicy(policy, 'task.max_spend_cents') || isSetByPolicy(policy, 'task.max_tokens');
  return isSet || policy.settings.budgets.some(({ unit }) => unit !== 'calls');
}
