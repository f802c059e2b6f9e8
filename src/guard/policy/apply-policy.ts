/** Turns a policy and the environment into settings, rules and budgets of a gear. */

import { defaultSettings } from '../../core/controls/defaults.ts';
import { createRuleEngine, parseOperatorRules } from '../../core/controls/rules/engine.ts';
import { checkPolicy } from '../../policy/check/check-policy.ts';
import { applyEnvironment } from '../../policy/environment.ts';
import type { PolicyEngine } from '../../ports/policy.ts';
import { createJointBudgets } from '../budgets/joint-budgets.ts';
import { createContent } from './argument-content.ts';

export const policyEngine: PolicyEngine = {
  apply(input, env) {
    const isNamed = Object.keys(env).some((name) => /^(SWITCHGEAR|BB_CIRCUIT_BREAKER)_/.test(name));
    if (input === undefined && !isNamed) return { settings: defaultSettings, ignored: [], loosened: [] };
    const { settings, ignored, loosened } = applyEnvironment(checkPolicy(input ?? {}), env);
    const rules = parseOperatorRules(settings.rules);
    return {
      settings,
      ignored,
      loosened,
      budgets: createJointBudgets(settings.budgets),
      content: createContent(settings.journal),
      rules: rules.length === 0 ? undefined : createRuleEngine(rules, settings.ruleSettings),
    };
  },
  createEmptyRules: (settings) => createRuleEngine([], settings.ruleSettings),
};
