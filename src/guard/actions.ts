/** The action of a call: features of its arguments, never the arguments. */

import type { Action } from '../core/action.ts';
import { microsPerCent } from '../core/budget.ts';
import { fingerprint } from './fingerprint.ts';
import type { GuardOptions } from './front-door.ts';
import type { Lane } from './lanes.ts';
import type { Runner } from './run.ts';

/** What a call is told by the host, beside its arguments. */
export interface CallFacts {
  readonly id?: string | undefined;
  readonly turnId?: string | undefined;
}

export function actionOf(
  runner: Runner,
  lane: Lane,
  args: readonly unknown[],
  options: GuardOptions,
  facts: CallFacts,
): Action {
  const { target, task } = lane;
  const worst = typeof options.worst === 'function' ? options.worst(...args) : options.worst;
  const plain = {
    id: facts.id ?? runner.nextId(),
    kind: target.kind,
    name: target.name,
    agent: lane.agent,
    session: lane.session,
    fingerprint: task === undefined ? 0 : fingerprint(target.name, args),
    worstMicros: worst === undefined ? 0 : boundedCost(worst.cents) * microsPerCent,
    worstTokens: worst === undefined ? 0 : boundedCost(worst.tokens),
    patienceMs: lane.patienceMs,
    task: task?.id as string, // Absent and undefined are the same to whoever reads it; one shape is faster.
  };
  const rules = runner.rules();
  if (rules === undefined && facts.turnId === undefined) return plain;
  const hits = rules?.matchCall(target.name, lane.agent, args) ?? [];
  return {
    ...plain,
    ...(hits.length === 0 ? {} : { hits }),
    ...(facts.turnId === undefined ? {} : { turnId: facts.turnId }),
  };
}

function boundedCost(value: number | undefined): number {
  return value !== undefined && value > 0 ? Math.min(value, 1e12) : 0;
}
