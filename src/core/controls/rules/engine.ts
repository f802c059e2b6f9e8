/** The rules in force, in the form that the guard uses. */

import { SwitchgearError } from '../../error.ts';
import { reasonLengthMax } from '../../limits.ts';
import type { RuleEngine, Tightened } from '../../rule-engine.ts';
import type { RuleSettings, RuleText } from '../../settings.ts';
import { rulesControl } from './control.ts';
import { matchCall, matchResult } from './evaluate.ts';
import { redact } from './redaction.ts';
import { parseRule, parseRuleText, type Rule } from './rule.ts';
import { addRules, createRuleSet } from './rule-set.ts';

/** The engine of a set of rules. */
export interface RulesInForce extends RuleEngine {
  readonly rules: readonly Rule[];
}

/** Creates the engine of a set of rules. */
export function createRuleEngine(rules: readonly Rule[], settings: RuleSettings): RulesInForce {
  return {
    rules,
    control: rulesControl(rules, settings),
    matchCall: (tool, agent, args) => matchCall(rules, { tool, agent, args }, settings),
    matchResult: (tool, agent, result) => matchResult(rules, { tool, agent, result }),
    redact,
    tighten: (lines, target) => tighten(rules, settings, lines, target),
    with(before, next) {
      const modelRules = ((before as RulesInForce | undefined)?.rules ?? []).filter((rule) => rule.origin === 'model');
      return createRuleEngine(addRules(rules, modelRules).rules, next);
    },
  };
}

/** Parses the operator's rules. An invalid rule is never dropped: the whole policy is refused. */
export function parseOperatorRules(texts: readonly RuleText[]): readonly Rule[] {
  const parsed = texts.map((text) => {
    const { rule, error } = parseRuleText(text);
    if (rule === undefined) throw new SwitchgearError('invalid_policy', `a rule cannot be read: ${error}`);
    return rule;
  });
  return createRuleSet(parsed).rules;
}

function tighten(rules: readonly Rule[], settings: RuleSettings, lines: readonly string[], target: string): Tightened {
  const parsed = lines.map((line) => ({ line, ...parseRule(line, { origin: 'model', target }) }));
  const set = addRules(
    rules,
    parsed.flatMap(({ rule }) => rule ?? []),
  );
  const unread = parsed.flatMap(({ line, error }) => {
    return error === undefined ? [] : [{ line: String(line).slice(0, reasonLengthMax), reason: error }];
  });
  const before = new Set(rules.map((rule) => rule.id));
  return {
    engine: createRuleEngine(set.rules, settings),
    taken: set.rules.filter((rule) => !before.has(rule.id)).map((rule) => rule.id),
    rejected: [...unread, ...set.rejected.map(({ rule, reason }) => ({ line: rule.id, reason }))],
  };
}
