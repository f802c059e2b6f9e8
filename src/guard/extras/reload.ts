/** Another policy, or a model's rules, without a restart: counts stay, what was resolved is resolved again. */

import { quoted } from '../../core/quote.ts';
import { resolveTask } from '../../core/resolve-settings.ts';
import type { Settings } from '../../core/settings.ts';
import type { PolicyInput, Switchgear } from '../api.ts';
import { write } from '../journal/journal.ts';
import { policyEngineOf, takePolicy } from '../policy/policy-engine.ts';
import { renewLanes } from '../route/call-site.ts';
import { laterRounds } from '../route/rounds.ts';
import { list } from '../runtime/option-checks.ts';
import { worksOf } from '../runtime/works-of.ts';
import { seatsOf } from '../tasks/task.ts';
import { controlsOf, noticeCalls } from '../tasks/task-tree.ts';

/** Takes another policy without a restart; counters stay. */
export function reload(gear: Switchgear, policy: PolicyInput): void {
  const works = worksOf(gear);
  const before = works.settings;
  const next = takePolicy(policy, works.env);
  const { settings } = next;
  const names = Object.keys(settings) as (keyof Settings)[];
  const changed = names.filter((name) => JSON.stringify(settings[name]) !== JSON.stringify(before[name]));
  works.settings = settings;
  works.rounds ??= next.rounds as typeof works.rounds;
  works.budgets?.close();
  works.budgets = next.budgets;
  works.content = next.content;
  if (works.rules !== undefined || next.rules !== undefined) {
    const engine = next.rules ?? policyEngineOf(policy).noRules(settings);
    works.rules = engine.with(works.rules, settings.ruleSettings);
  }
  works.taskControls.clear();
  for (const task of works.tasks.values()) {
    task.limits = resolveTask(settings, task.agent, task.said);
    task.controls = controlsOf(works, task.limits);
    task.noticeCalls = noticeCalls(task.limits);
    task.lanes = undefined;
  }
  // Seats follow once every task has its controls: a task sits with those of its ancestors, too.
  for (const task of works.tasks.values()) {
    if (task.seats === undefined) continue;
    task.seats = undefined;
    seatsOf(works, task);
  }
  renewLanes(works);
  write(works, { type: 'policy-reloaded', changed });
}

/** Adds rules written by a model: they may only tighten. The ids of those taken come back. */
export function tighten(gear: Switchgear, lines: readonly string[], chain?: string): readonly string[] {
  const works = worksOf(gear);
  const engine = works.rules ?? policyEngineOf(works.policy).noRules(works.settings);
  const written = list('the rules', lines).map((line) => (typeof line === 'string' ? line : quoted(line)));
  const { rejected, taken, engine: tightened } = engine.tighten(written, chain ?? `agent:${works.agent}`);
  for (const one of rejected) write(works, { type: 'rule-rejected', ...one });
  works.rounds ??= laterRounds; // A model's rule may ask, too.
  works.rules = tightened;
  renewLanes(works);
  return taken;
}
