/** The counts of a run over all its tasks, and with what was reported late. */

import type { Refusal } from '../../core/refusal.ts';
import type { CarriedTask } from '../../guard/internal.ts';

export type RunTotals = Pick<CarriedTask['budget'], 'calls' | 'treeCalls' | 'micros' | 'tokens'>;

export function addTotals(a: RunTotals, b: RunTotals | undefined): RunTotals {
  if (b === undefined) return a;
  return {
    calls: a.calls + b.calls,
    treeCalls: (a.treeCalls ?? 0) + (b.treeCalls ?? 0),
    micros: a.micros + b.micros,
    tokens: a.tokens + b.tokens,
  };
}

/** Adds the spending reported after the halt. A halt by a subagent leaves the limits of the run unchanged. */
export function addLateSpending(
  { budget, stop: ownStop, ...rest }: CarriedTask,
  halt: Refusal,
  lateMicros: number,
): CarriedTask {
  const { code, control, counters } = halt;
  const stop = ownStop ?? { kind: 'halt', code, control, counters: { ...counters, scope: 'subagent' } };
  return { ...rest, stop, budget: { ...budget, micros: budget.micros + lateMicros } };
}
