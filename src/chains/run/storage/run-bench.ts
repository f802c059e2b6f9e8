/** What a run works with: its gear and gate, its rules, who does what, and what came out so far. */

import type { Switchgear } from '../../../guard/api.ts';
import type { ChainGate } from '../../../guard/entries/chain-step.ts';
import { appendEntry, keepsContent } from '../../../guard/journal/journal.ts';
import type { Ability } from '../../abilities/ability.ts';
import type { Checked, RunRules } from '../state/check-rules.ts';
import type { Desk } from './run-context.ts';

export interface Bench {
  readonly desk: Desk;
  readonly gear: Switchgear;
  readonly gate: ChainGate;
  readonly rules: RunRules;
  readonly abilities: ReadonlyMap<string, Ability>;
  /** By output key. */
  readonly outputs: Record<string, unknown>;
  /** What fired before the step that came last. */
  lastChecked: Checked;
}

/** Says what each rule saw; the journal holds the values only where content is held. */
export function tellRules(bench: Bench, step: string, checked: Checked): void {
  bench.lastChecked = checked;
  const { desk, gate } = bench;
  const { rows } = checked;
  if (rows.length === 0) return;
  const { id: run } = desk.run;
  desk.show({ type: 'rules-checked', run, step, rows });
  const held = keepsContent(gate.runtime);
  const kept = rows.map(({ rule, fired, limit, value }) => ({ rule, fired, limit, ...(held && { value }) }));
  appendEntry(gate.runtime, { type: 'rules-checked', run, step, rows: kept }, { task: run, agent: bench.gear.agent });
}
