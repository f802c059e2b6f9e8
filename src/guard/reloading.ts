/** Another policy, or a model's rules, without a restart: counts stay, what was resolved is resolved again. */

import { quoted } from '../core/quoted.ts';
import type { Settings } from '../core/settings.ts';
import { resolveTask } from '../policy/resolve.ts';
import * as check from './arguments.ts';
import type { PolicyInput } from './front-door.ts';
import { policyEngineOf, takePolicy } from './policy-engine.ts';
import type { Works } from './works.ts';

export function reload(works: Works, policy: PolicyInput): void {
  const { notes, tasks, seating, clock } = works;
  const before = works.settings;
  const next = takePolicy(policy, works.env);
  const names = Object.keys(next.settings) as (keyof Settings)[];
  const changed = names.filter((name) => JSON.stringify(next.settings[name]) !== JSON.stringify(before[name]));
  works.settings = next.settings;
  if (works.rules !== undefined || next.rules !== undefined) {
    const engine = next.rules ?? policyEngineOf(policy).noRules(next.settings);
    works.rules = engine.with(works.rules, next.settings.ruleSettings);
  }
  notes.take(next.settings.journal);
  tasks.reseat((task) => resolveTask(next.settings, task.agent, task.said));
  seating.renew();
  notes.write({ type: 'policy-reloaded', changed }, {}, clock.nowMs());
}

/** Adds rules that a model wrote; the ids of those taken come back. */
export function tighten(works: Works, lines: readonly string[], chain: string | undefined): readonly string[] {
  const engine = works.rules ?? policyEngineOf(works.options.policy).noRules(works.settings);
  const written = check.list('the rules', lines).map((line) => (typeof line === 'string' ? line : quoted(line)));
  const { rejected, taken, engine: tightened } = engine.tighten(written, chain ?? `agent:${works.agent}`);
  for (const one of rejected) works.notes.write({ type: 'rule-rejected', ...one }, {}, works.clock.nowMs());
  works.rules = tightened;
  works.seating.renew();
  return taken;
}
