/** Replaces the policy of a running gear, and adds rules written by a model. Counters stay. */

import { resolveTask } from '../../core/controls/resolve-settings.ts';
import { quoteValue } from '../../core/quote.ts';
import type { Settings } from '../../core/settings.ts';
import type { PolicyEngine } from '../../ports/policy.ts';
import type { PolicyInput } from '../api.ts';
import { appendEntry } from '../journal/journal.ts';
import { resetCallSites, resolveBreakersAgain } from '../route/call-site.ts';
import { invalid, list } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { boundControlsOf } from '../tasks/task.ts';
import { noticeCalls, taskControlsFor } from '../tasks/task-tree.ts';
import { resumeHealthChecks } from './health-checks.ts';

/** Replaces the policy; counters stay, settings are resolved again. */
export function reload(runtime: Runtime, policy: PolicyInput): void {
  if (policy === undefined || policy === null) throw invalid(`the policy must be an object, got ${quoteValue(policy)}`);
  const before = runtime.settings;
  const engineOfPolicies = policyEngineOf(runtime);
  const next = engineOfPolicies.apply(policy, runtime.env);
  const { settings } = next;
  const names = Object.keys(settings) as (keyof Settings)[];
  const changed = names.filter((name) => JSON.stringify(settings[name]) !== JSON.stringify(before[name]));
  runtime.settings = settings;
  runtime.originOf = next.originOf;
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
  // Bind only after every task has its controls: a task also binds the controls of its ancestors.
  for (const task of runtime.tasks.values()) {
    if (task.boundControls === undefined) continue;
    task.boundControls = undefined;
    boundControlsOf(runtime, task);
  }
  resetCallSites(runtime);
  resolveBreakersAgain(runtime);
  resumeHealthChecks(runtime);
  appendEntry(runtime, { type: 'policy-reloaded', changed });
}

/** The policy engine; only the gears of hooks have none. */
function policyEngineOf({ policyEngine }: Runtime): PolicyEngine {
  if (policyEngine === undefined) throw invalid('this gear takes no policy');
  return policyEngine;
}

/** Adds rules written by a model, which may only tighten the policy, and returns the ids of the accepted rules. */
export function addModelRules(runtime: Runtime, lines: readonly string[], chain?: string): readonly string[] {
  const engine = runtime.rules ?? policyEngineOf(runtime).createEmptyRules(runtime.settings);
  const written = list('the rules', lines).map((line) => (typeof line === 'string' ? line : quoteValue(line)));
  const { rejected, taken, engine: tightened } = engine.tighten(written, chain ?? `agent:${runtime.agent}`);
  for (const one of rejected) appendEntry(runtime, { type: 'rule-rejected', ...one });
  runtime.rules = tightened;
  resetCallSites(runtime);
  return taken;
}
