/**
 * What parameters brought into rules, taken out of what is kept. A rule is known by what it says, so a text that was
 * filled in would stand in every card and entry about it; there `{{name}}` stands for it, as in the file.
 */

import { printCondition } from '../../core/controls/rules/condition.ts';
import { seenInOutput } from '../../core/controls/rules/evaluate.ts';
import { numberOf } from '../../core/controls/rules/lookup.ts';
import { type Rule, ruleOf } from '../../core/controls/rules/rule.ts';
import type { RuleText } from '../../core/settings.ts';
import type { Chain, ParamValues } from '../file/chain.ts';
import { chainRules } from '../file/chain-rules.ts';

/** Takes texts of parameters out of an entry or a card. */
export type Veil = <T>(kept: T) => T;

/** What is said of a rule as it was filled, and as it is written. */
type Pair = readonly [from: string, to: string];

interface Said {
  readonly ids: readonly Pair[];
  readonly words: readonly Pair[];
}

/** Where entries and cards name rules, and where they speak in their words. */
const naming = new Set(['line', 'rule', 'rules']);
const speaking = new Set(['evidence', 'message', 'reason', 'seen']);

/** The veil of a run. Numbers are no secrets: a limit is what a person wants to see. */
export function veilOf(chain: Pick<Chain, 'id' | 'rules'>, params: ParamValues): Veil {
  return replacing(saidIn(chain, params));
}

/** Lifts the veil for a person who may look at the run, and so at its parameters. */
export function unveilOf(chain: Pick<Chain, 'id' | 'rules'>, params: ParamValues): Veil {
  const { ids, words } = saidIn(chain, params);
  const turned = (pairs: readonly Pair[]) => pairs.map(([filled, written]): Pair => [written, filled]);
  return replacing({ ids: turned(ids), words: turned(words) });
}

function saidIn(chain: Pick<Chain, 'id' | 'rules'>, params: ParamValues): Said {
  const texts = Object.entries(params).filter(
    ([, value]) => typeof value === 'string' && numberOf(value) === undefined,
  );
  const named = { ...params, ...Object.fromEntries(texts.map(([name]) => [name, `{{${name}}}`])) };
  const both = chain.rules.flatMap((text) => {
    const filled = ruleIn(chain.id, text, params);
    // A window can only stand for itself: then the words alone are as they are written.
    const written =
      ruleIn(chain.id, text, named) ??
      (filled && ruleIn(chain.id, { ...text, condition: printCondition(filled.condition) }, named));
    return filled === undefined || written === undefined ? [] : [[filled, written] as const];
  });
  const pairs = (of: (rule: Rule) => string) =>
    both.map(([filled, written]): Pair => [of(filled), of(written)]).filter(([from, to]) => from !== to && from !== '');
  const seen = ({ condition }: Rule) => (condition.kind === 'output' ? seenInOutput(condition) : '');
  const words = [...pairs(({ reason = '' }) => reason), ...pairs(seen)];
  return {
    ids: pairs(({ id }) => id),
    words: words.toSorted(([one], [other]) => other.length - one.length),
  };
}

function ruleIn(id: string, rule: RuleText, params: ParamValues): Rule | undefined {
  try {
    return ruleOf(chainRules({ id, rules: [rule] }, params)[0]!).rule;
  } catch {
    return undefined;
  }
}

function replacing({ ids, words }: Said): Veil {
  if (ids.length === 0 && words.length === 0) return (kept) => kept;
  const names = new Map(ids);
  const named = (text: string) => names.get(text) ?? text;
  const spoken = (text: string) => words.reduce((said, [from, to]) => said.replaceAll(from, () => to), text);
  const look = <T>(value: T, key: string): T => {
    if (typeof value === 'string')
      return (naming.has(key) ? named(value) : speaking.has(key) ? spoken(value) : value) as T;
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((each) => look(each, key)) as T;
    const parts = Object.entries(value).map(([name, part]) => [name, look(part, name)]);
    const { rule, limit } = value as { readonly rule?: unknown; readonly limit?: unknown };
    const isIn = typeof limit === 'string' && names.has(String(rule)); // What it looks for is a part of the rule.
    return { ...Object.fromEntries(parts), ...(isIn && { limit: '…' }) } as T;
  };
  return (kept) => look(kept, '');
}
