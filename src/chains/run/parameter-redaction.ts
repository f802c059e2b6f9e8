/**
 * Removes the texts of parameters from stored entries and cards. The id of a rule contains its filled condition, so
 * every card and entry about the rule would contain the parameter; the stored form has `{{name}}` instead, as the file.
 */

import { printCondition } from '../../core/controls/rules/condition.ts';
import { describeOutputHit } from '../../core/controls/rules/evaluate.ts';
import { parseNumber } from '../../core/controls/rules/read-key.ts';
import { parseRuleText, type Rule } from '../../core/controls/rules/rule.ts';
import type { RuleText } from '../../core/settings.ts';
import type { Chain, ParamValues } from '../file/chain.ts';
import { chainRules } from '../file/chain-rules.ts';

/** Replaces texts in an entry or a card. */
export type Redactor = <T>(value: T) => T;

/** A text of the filled rule, and the same text of the rule as written. */
type Replacement = readonly [from: string, to: string];

interface Replacements {
  readonly ids: readonly Replacement[];
  readonly phrases: readonly Replacement[];
}

/** Fields of entries and cards with the ids of rules, and fields with sentences. */
const ruleFields = new Set(['line', 'rule', 'rules']);
const textFields = new Set(['evidence', 'message', 'reason', 'seen']);

/** Replaces the parameters of a run in stored texts by their names. Numbers stay, so that a person sees the limits. */
export function createParamRedactor(chain: Pick<Chain, 'id' | 'rules'>, params: ParamValues): Redactor {
  return createRedactor(collectReplacements(chain, params));
}

/** Puts the parameters back for a person who may see the run. */
export function createParamRestorer(chain: Pick<Chain, 'id' | 'rules'>, params: ParamValues): Redactor {
  const { ids, phrases } = collectReplacements(chain, params);
  const reverse = (pairs: readonly Replacement[]) => pairs.map(([filled, written]): Replacement => [written, filled]);
  return createRedactor({ ids: reverse(ids), phrases: reverse(phrases) });
}

function collectReplacements(chain: Pick<Chain, 'id' | 'rules'>, params: ParamValues): Replacements {
  const texts = Object.entries(params).filter(
    ([, value]) => typeof value === 'string' && parseNumber(value) === undefined,
  );
  const named = { ...params, ...Object.fromEntries(texts.map(([name]) => [name, `{{${name}}}`])) };
  const rulePairs = chain.rules.flatMap((text) => {
    const filled = tryReadRule(chain.id, text, params);
    // A window cannot be a name: keep the filled condition, and redact the reason only.
    const written =
      tryReadRule(chain.id, text, named) ??
      (filled && tryReadRule(chain.id, { ...text, condition: printCondition(filled.condition) }, named));
    return filled === undefined || written === undefined ? [] : [[filled, written] as const];
  });
  const pairs = (select: (rule: Rule) => string) =>
    rulePairs
      .map(([filled, written]): Replacement => [select(filled), select(written)])
      .filter(([from, to]) => from !== to && from !== '');
  const describeSeen = ({ condition }: Rule) => (condition.kind === 'output' ? describeOutputHit(condition) : '');
  const phrases = [...pairs(({ reason = '' }) => reason), ...pairs(describeSeen)];
  return {
    ids: pairs(({ id }) => id),
    phrases: phrases.toSorted(([a], [b]) => b.length - a.length),
  };
}

function tryReadRule(id: string, rule: RuleText, params: ParamValues): Rule | undefined {
  try {
    return parseRuleText(chainRules({ id, rules: [rule] }, params)[0]!).rule;
  } catch {
    return undefined;
  }
}

function createRedactor({ ids, phrases }: Replacements): Redactor {
  if (ids.length === 0 && phrases.length === 0) return (value) => value;
  const names = new Map(ids);
  const named = (text: string) => names.get(text) ?? text;
  const replaceText = (text: string) => phrases.reduce((result, [from, to]) => result.replaceAll(from, () => to), text);
  const replaceIn = <T>(value: T, key: string): T => {
    if (typeof value === 'string')
      return (ruleFields.has(key) ? named(value) : textFields.has(key) ? replaceText(value) : value) as T;
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((each) => replaceIn(each, key)) as T;
    const parts = Object.entries(value).map(([name, part]) => [name, replaceIn(part, name)]);
    const { rule, limit } = value as { readonly rule?: unknown; readonly limit?: unknown };
    const isIn = typeof limit === 'string' && names.has(String(rule)); // The text that the rule searches for.
    return { ...Object.fromEntries(parts), ...(isIn && { limit: '…' }) } as T;
  };
  return (value) => replaceIn(value, '');
}
