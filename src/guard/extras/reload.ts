/** Another policy, or a model's rules, without a restart: counts stay, what was resolved is resolved again. */

import { quoteValue } from '../../core/quote.ts';
import { resolveTask } from '../../core/resolve-settings.ts';
import type { Settings } from '../../core/settings.ts';
import type { PolicyEngine } from '../../ports/policy.ts';
import type { PolicyInput, Switchgear } from '../api.ts';
import { appendEntry } from '../journal/journal.ts';
import { resetCallSites } from '../route/call-site.ts';
import { invalid, list } from '../runtime/option-checks.ts';
import { type Runtime, runtimeOf } from '../runtime/runtime.ts';
import { boundControlsOf } from '../tasks/task.ts';
import { noticeCalls, taskControlsFor } from '../tasks/task-tree.ts';

/** Takes another policy without a restart; counters stay. */
export function reload(gear: Switchgear, policy: PolicyInput): void {
  const runtime = runtimeOf(gear);
  const before = runtime.settings;
  const engineOfPolicies = policyEngineOf(runtime);
  const next = engineOfPolicies.apply(policy, runtime.env);
  const { settings } = next;
  const names = Object.keys(settings) as (keyof Settings)[];
  const changed = names.filter((name) => JSON.stringify(settings[name]) !== JSON.stringify(before[name]));
  runtime.settings = settings;
  runtime.budgets?.close();
  runtime.budgets = next.budgets;
  runtime.content = next.content;
  if (runtime.rules !== undefined || next.rules !== undefined) {
    const engine = next.rules ?? engineOfPolicies.createEmptyRules(settings);
    runtime.rules = engine.with(runtime.rules, settings.ruleSettings);
  }
  runtime.taskControls.clear();
  for (const task of runtime.tasks.values()) {
    task.limits = resolveTask(settings, task.agent, task.givenLimits);
    task.controls = taskControlsFor(runtime, task.limits);
    task.noticeCalls = noticeCalls(task.limits);
    task.callSites = undefined;
  }
  // Seats follow once every task has its controls: a task sits with those of its ancestors, too.
  for (const task of runtime.tasks.values()) {
    if (task.boundControls === undefined) continue;
    task.boundControls = undefined;
    boundControlsOf(runtime, task);
  }
  resetCallSites(runtime);
  appendEntry(runtime, { type: 'policy-reloaded', changed });
}

/** The checker of policies; only the hooks' own gears have none. */
function policyEngineOf({ policyEngine }: Runtime): PolicyEngine {
  if (policyEngine === undefined) throw invalid('this gear takes no policy');
  return policyEngine;
}

/** Adds rules written by a model: they may only tighten. The ids of those taken come back. */
export function addModelRules(gear: Switchgear, lines: readonly string[], chain?: string): readonly string[] {
  const runtime = runtimeOf(gear);
  const engine = runtime.rules ?? policyEngineOf(runtime).createEmptyRules(runtime.settings);
  const written = list('the rules', lines).map((line) => (typeof line === 'string' ? line : quoteValue(line)));
  const { rejected, taken, engine: tightened } = engine.tighten(written, chain ?? `agent:${runtime.agent}`);
  for (const one of rejected) appendEntry(runtime, { type: 'rule-rejected', ...one });
  runtime.rules = tightened;
  resetCallSites(runtime);
  return taken;
}
