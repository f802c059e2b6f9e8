/** What a person does with a task: ends it, or has it tried again with the tripped limit raised. */

import { raisesMax, reasonLengthMax } from '../core/limits.ts';
import { quoted } from '../core/quoted.ts';
import type { TaskSettings } from '../core/settings.ts';
import type { Stop } from '../core/verdict.ts';
import type { TaskOptions } from './front-door.ts';
import type { TaskNode } from './task-node.ts';

/** The verdict of a person who ends a task. */
export function haltedByHand(said: string): Stop {
  const reason = typeof said === 'string' ? said.slice(0, reasonLengthMax) : quoted(said);
  return { kind: 'halt', code: 'rule_abort', control: 'operator', counters: {}, reason };
}

/** The options to try a halted task with again; undefined where it was not halted, or was raised too often. */
export function retryOptions(node: TaskNode | undefined): TaskOptions | undefined {
  if (node?.haltStop === undefined || node.raises >= raisesMax) return undefined;
  const limits = raised(node.limits, node.haltStop);
  return { agent: node.agent, session: node.session, parent: null, limits, retryOf: node.id } as TaskOptions;
}

/** The tripped limit doubled, the others as they were. */
function raised(limits: TaskSettings, stop: Stop): TaskSettings {
  switch (stop.code) {
    case 'tool_call_limit':
      return { ...limits, maxToolCalls: limits.maxToolCalls * 2 };
    case 'token_spend_limit':
      return { ...limits, maxSpendCents: limits.maxSpendCents * 2 };
    case 'token_limit':
      return { ...limits, maxTokens: (limits.maxTokens ?? 1) * 2 };
    case 'duration_limit':
      return { ...limits, maxDurationSecs: limits.maxDurationSecs * 2 };
    case 'idle_timeout':
      return { ...limits, maxIdleSecs: limits.maxIdleSecs * 2 };
    case 'denial_limit':
      return { ...limits, maxDenials: limits.maxDenials * 2 };
    default:
      return limits;
  }
}
