/** Checks which rules fire before a step of a chain, and what value each rule found. */

import type { RuleHit } from '../../../core/action.ts';
import { explainRules, matchCall, matchStep, type StepFacts } from '../../../core/controls/rules/evaluate.ts';
import type { Rule } from '../../../core/controls/rules/rule.ts';
import { isFor } from '../../../core/controls/rules/target.ts';
import type { RuleSettings } from '../../../core/settings.ts';
import type { RuleCheck } from './run-event.ts';
import type { RunState } from './run-state.ts';

/** The rules for a run: those of the policy and those of the chain, each with their settings. */
export interface RunRules {
  readonly policy: readonly Rule[];
  readonly own: readonly Rule[];
  readonly settings: RuleSettings;
  readonly ownSettings: RuleSettings;
}

/** The step to check; `ability` is empty after the last step. */
export interface UpcomingStep {
  readonly ability: string;
  readonly agent: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly outputs: Readonly<Record<string, unknown>>;
}

export interface RuleCheckResult {
  readonly hits: readonly RuleHit[];
  readonly rows: readonly RuleCheck[];
}

/** Checks all rules for the upcoming step, or for the end of the run. */
export function checkRules(rules: RunRules, run: RunState, upcoming: UpcomingStep): RuleCheckResult {
  const step: StepFacts = { chain: run.chain.id, params: run.params, ...upcoming };
  const isEnd = upcoming.ability === '';
  const checks = new Map<string, { readonly row: RuleCheck; readonly hit: RuleHit | undefined }>();
  const add = (rule: Rule, hit: RuleHit | undefined, value: string, limit: string) => {
    if (checks.get(rule.id)?.hit !== undefined) return;
    const { id, action, reason } = rule;
    const row = { rule: id, action, fired: hit !== undefined, value, limit, ...(reason !== undefined && { reason }) };
    checks.set(id, { row, hit });
  };
  const lists = [
    [rules.own, rules.ownSettings],
    [rules.policy.filter(({ target }) => targetsChains(target)), rules.settings],
  ] as const;
  for (const [list, settings] of lists) {
    for (const rule of list) {
      if (isEnd && rule.condition.kind === 'ability') continue;
      const own = resolveMissing(rule, run, settings);
      const [row] = explainRules([rule], step, own);
      if (row !== undefined) add(rule, matchStep([rule], step, own)[0], row.value, row.limit);
    }
  }
  if (!isEnd) checkCallRules(rules, upcoming, add);
  const all = [...checks.values()];
  return { hits: all.flatMap(({ hit }) => hit ?? []), rows: all.map(({ row }) => row) };
}

/** Checks rules with a `tool:` or `agent:` target against the arguments of the step, as for any call. */
function checkCallRules(
  { policy, settings }: RunRules,
  { ability, agent, args }: UpcomingStep,
  add: (rule: Rule, hit: RuleHit | undefined, value: string, limit: string) => void,
): void {
  for (const rule of policy) {
    if (rule.target !== '*' && targetsChains(rule.target)) continue;
    if (!isFor(rule.target, { tool: ability, agent })) continue;
    const [hit] = matchCall([rule], { tool: ability, agent, args }, settings);
    const asStep = { chain: '', ability, agent, outputs: args };
    const [row] = explainRules([rule], asStep, { ...settings, lookup: ['outputs'] });
    if (row !== undefined && (hit !== undefined || rule.target !== '*')) add(rule, hit, row.value, row.limit);
  }
}

function targetsChains(target: string): boolean {
  return !target.startsWith('tool:') && !target.startsWith('agent:');
}

/** A rule that waits for its key fires once the step that outputs the key is done or skipped. */
function resolveMissing({ condition }: Rule, { chain, steps }: RunState, settings: RuleSettings): RuleSettings {
  if (settings.onMissing === 'fire' || condition.kind !== 'threshold') return settings;
  const [root] = condition.key.split('.');
  const isPassed = chain.steps.some(({ outputKey }, at) => {
    const status = steps[at]?.status;
    return (outputKey === condition.key || outputKey === root) && (status === 'done' || status === 'skipped');
  });
  return isPassed ? { ...settings, onMissing: 'fire' } : settings;
}
