/**
 * What parameters brought into rules, taken out of what is kept. A rule is known by what it says, so a text that was
 * filled in would stand in every card and entry about it; there `{{name}}` stands for it, as in the file.
 */

import { seenInOutput } from '../core/rules/evaluate.ts';
import { numberOf } from '../core/rules/read.ts';
import { type Rule, ruleOf } from '../core/rules/rule.ts';
import type { Chain, ParamValues } from './chain.ts';
import { rulesOf } from './rules-of.ts';

/** Takes texts of parameters out of an entry or a card. */
export type Veil = <T>(kept: T) => T;

/** Where entries and cards speak of rules, or in their words. */
const speaking = new Set(['evidence', 'line', 'message', 'reason', 'rule', 'rules', 'seen']);

/** The veil of a run. Numbers are no secrets: a limit is what a person wants to see. */
export function veilOf(chain: Pick<Chain, 'id' | 'rules'>, params: ParamValues): Veil {
  const texts = Object.keys(params).filter((name) => numberOf(params[name]) === undefined);
  const named = { ...params, ...Object.fromEntries(texts.map((name) => [name, `{{${name}}}`])) };
  const pairs = chain.rules.flatMap((rule) => {
    const one = { id: chain.id, rules: [rule] };
    const filled = ruleIn(one, params);
    const written = ruleIn(one, named);
    if (filled === undefined || written === undefined) return []; // A window stands for itself alone.
    const [before, after] = [saidBy(filled), saidBy(written)];
    return before.map((from, at) => [from, after[at]!] as const).filter(([from, to]) => from !== to);
  });
  if (pairs.length === 0) return (kept) => kept;
  const longestFirst = pairs.toSorted(([one], [other]) => other.length - one.length);
  const plain = (text: string) => longestFirst.reduce((said, [from, to]) => said.replaceAll(from, () => to), text);
  return (kept) => veiled(kept, false, plain);
}

function ruleIn(chain: Pick<Chain, 'id' | 'rules'>, params: ParamValues): Rule | undefined {
  try {
    return ruleOf(rulesOf(chain, params)[0]!).rule;
  } catch {
    return undefined;
  }
}

/** In which words a rule is spoken of. */
function saidBy({ id, reason = '', condition }: Rule): readonly string[] {
  return [id, reason, condition.kind === 'output' ? seenInOutput(condition) : ''];
}

function veiled<T>(value: T, isSpoken: boolean, plain: (text: string) => string): T {
  if (typeof value === 'string') return (isSpoken ? plain(value) : value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => veiled(each, isSpoken, plain)) as T;
  const { rule, limit } = value as { readonly rule?: unknown; readonly limit?: unknown };
  const isLimit = typeof rule === 'string' && typeof limit === 'string' && plain(rule) !== rule;
  const parts = Object.entries(value).map(([key, part]) => [key, veiled(part, speaking.has(key), plain)]);
  return { ...Object.fromEntries(parts), ...(isLimit && { limit: '…' }) } as T; // What it looks for is in the rule.
}
