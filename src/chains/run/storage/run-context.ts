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
  /** By output key. */
  readonly outputs: Record<string, unknown>;
  /** What fired before the step that came last. */
  lastCheck: RuleCheckResult;
}

/** Says what each rule saw; the journal holds the values only where content is held. */
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
