/** The set of rules in force. A model's rules are only added; they never replace the operator's. */

import { modelRulesMax, rulesMax } from '../../limits.ts';
import type { Rule } from './rule.ts';
import { isNarrow } from './target.ts';

/** The accepted and the rejected rules. */
export interface RuleSet {
  readonly rules: readonly Rule[];
  /** Rejected rules, and why. */
  readonly rejected: readonly { readonly rule: Rule; readonly reason: string }[];
}

/** Creates a set of rules. */
export function createRuleSet(rules: readonly Rule[]): RuleSet {
  return addRules([], rules);
}

/**
 * Adds rules to those in force. A rule with the same target, condition and action replaces the earlier one.
 * A weaker action on the same condition is a separate rule: both stay, and the stricter wins when they fire.
 */
export function addRules(inForce: readonly Rule[], more: readonly Rule[]): RuleSet {
  const rules = new Map(inForce.map((rule) => [rule.id, rule]));
  const rejected: { rule: Rule; reason: string }[] = [];
  for (const rule of more) {
    const reason = findObjection(rules, rule);
    if (reason === undefined) rules.set(rule.id, rule);
    else rejected.push({ rule, reason });
  }
  return { rules: [...rules.values()], rejected };
}

function findObjection(rules: ReadonlyMap<string, Rule>, rule: Rule): string | undefined {
  const before = rules.get(rule.id);
  if (rule.origin === 'model' && !isNarrow(rule.target)) return `a model may not write rules for ${rule.target}`;
  if (rule.origin === 'model' && before?.origin === 'operator') return 'the operator has this rule already';
  if (rule.origin === 'model' && before === undefined && countModelRules(rules) >= modelRulesMax)
    return `a model may write at most ${modelRulesMax} rules`;
  if (before === undefined && rules.size >= rulesMax) return `more than ${rulesMax} rules`;
  return undefined;
}

function countModelRules(rules: ReadonlyMap<string, Rule>): number {
  let count = 0;
  for (const { origin } of rules.values()) if (origin === 'model') count++;
  return count;
}
