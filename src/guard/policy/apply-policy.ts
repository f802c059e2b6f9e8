/** Turns a policy and the environment into settings, rules and budgets of a gear. */

import { defaultSettings } from '../../core/controls/defaults.ts';
import { createRuleEngine, parseOperatorRules } from '../../core/controls/rules/engine.ts';
import { backgroundOf, checkPolicy } from '../../policy/check/check-policy.ts';
import type { Provenance } from '../../policy/check/report.ts';
import { applyEnvironment } from '../../policy/environment.ts';
import type { PolicyEngine } from '../../ports/policy.ts';
import { createJointBudgets } from '../budgets/joint-budgets.ts';
import { withRunCalls } from '../budgets/run-calls.ts';
import { createContent } from './argument-content.ts';

export const policyEngine: PolicyEngine = {
  apply(input, env) {
    const isNamed = Object.keys(env).some((name) => /^(SWITCHGEAR|BB_CIRCUIT_BREAKER)_/.test(name));
    if (input === undefined && !isNamed) return { settings: defaultSettings, ignored: [], loosened: [] };
    const policy = checkPolicy(input ?? {});
    const background = backgroundOf(policy);
    const { settings, provenance, ignored, loosened } = applyEnvironment(policy, env);
    const rules = parseOperatorRules(settings.rules);
    const listed = settings.budgets.length === 0 ? undefined : createJointBudgets(settings.budgets);
    return {
      settings,
      ignored: [...(background.ignored ?? []), ...ignored],
      loosened: [...(background.loosened ?? []), ...loosened],
      project: background.project,
      originOf: (path) => describeOrigin(provenance.get(path)),
      budgets: withRunCalls(listed, () => createJointBudgets([]), env),
      content: createContent(settings.journal),
      rules: rules.length === 0 ? undefined : createRuleEngine(rules, settings.ruleSettings),
    };
  },
  createEmptyBudgets: () => createJointBudgets([]),
  createEmptyRules: (settings) => createRuleEngine([], settings.ruleSettings),
};

function describeOrigin(origin: Provenance | undefined): string | undefined {
  if (origin === undefined) return undefined;
  const { source, line } = origin;
  if (source === 'code') return 'the policy of the program';
  const place = source.startsWith('file ') ? source.slice('file '.length) : source;
  return line === undefined ? place : `${place}, line ${line}`;
}
