/** The policy as a gear takes it: checked, with the environment's word, and its rules ready. */

import { operatorRules, ruleEngine } from '../../core/controls/rules/engine.ts';
import { checkPolicy } from '../../policy/check/check-policy.ts';
import { applyEnvironment } from '../../policy/environment.ts';
import type { PolicyEngine } from '../../ports/policy.ts';
import { budgetsOf } from '../budgets/joint-budgets.ts';
import { laterRounds } from '../route/rounds.ts';
import { contentOf } from './argument-content.ts';

export const policyEngine: PolicyEngine = {
  take(input, env) {
    const { settings, ignored } = applyEnvironment(checkPolicy(input), env);
    const rules = operatorRules(settings.rules);
    return {
      settings,
      ignored,
      rounds: laterRounds,
      budgets: budgetsOf(settings.budgets),
      content: contentOf(settings.journal),
      rules: rules.length === 0 ? undefined : ruleEngine(rules, settings.ruleSettings),
    };
  },
  noRules: (settings) => ruleEngine([], settings.ruleSettings),
};
