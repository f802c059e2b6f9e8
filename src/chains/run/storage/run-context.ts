/** The parts that the steps of a run share: gear, gate, rules, abilities and outputs. */

import type { Switchgear } from '../../../guard/api.ts';
import type { ChainGuard } from '../../../guard/entries/chain-step.ts';
import { appendEntry, keepsContent } from '../../../guard/internal.ts';
import type { Ability } from '../../abilities/ability.ts';
import type { RuleCheckResult, RunRules } from '../state/check-rules.ts';
import type { ActiveRun } from './active-run.ts';

export interface RunContext {
  readonly active: ActiveRun;
  readonly gear: Switchgear;
  readonly gate: ChainGuard;
  readonly rules: RunRules;
  readonly abilities: ReadonlyMap<string, Ability>;
  /** The outputs so far, by output key. */
  readonly outputs: Record<string, unknown>;
  /** The latest rule check. */
  lastCheck: RuleCheckResult;
}

/** Reports the finding of each rule; the journal gets the values only if it keeps content. */
export function recordRuleChecks(context: RunContext, step: string, check: RuleCheckResult): void {
  context.lastCheck = check;
  const { active, gate } = context;
  const { rows } = check;
  if (rows.length === 0) return;
  const { id: run } = active.run;
  active.emit({ type: 'rules-checked', run, step, rows });
  const hasContent = keepsContent(gate.runtime);
  const entryRows = rows.map(({ rule, fired, limit, value }) => ({ rule, fired, limit, ...(hasContent && { value }) }));
  appendEntry(
    gate.runtime,
    { type: 'rules-checked', run, step, rows: entryRows },
    { task: run, agent: context.gear.agent },
  );
}
