/** `circuit_breakers` of a chain file: tables of condition, action and reason, or lines `condition|action|"reason"`. */

import { unquote } from '../../core/controls/rules/condition.ts';
import { chainRulesMax, ruleLengthMax } from '../../core/limits.ts';
import type { RuleText } from '../../core/settings.ts';
import { ruleProblem } from './chain-rules.ts';
import { type Problem, problemAt } from './problem.ts';
import { readTable, type Spot, shown, type TableReader } from './table-reader.ts';

const ruleKeys: readonly string[] = ['condition', 'action', 'reason'];

/** The rules, one for each item of the list: what cannot be read keeps its place, and is a problem. */
export function readRules(problems: Problem[], chain: TableReader, target: string): readonly RuleText[] {
  const items = chain.list('circuit_breakers', chainRulesMax) ?? [];
  return items.map((item) => readRule(problems, item, target) ?? { target, condition: '', action: '' });
}

function readRule(problems: Problem[], item: Spot, target: string): RuleText | undefined {
  const { written, path, place } = item;
  const isLine = written.kind === 'value' && typeof written.value === 'string';
  if (written.kind !== 'table' && written.kind !== 'wrong' && !isLine) {
    problems.push(problemAt(place, path, `must be a table or a line condition|action|"reason", got ${shown(written)}`));
    return undefined;
  }
  if (written.kind === 'table' && written.entries.has('B')) {
    problems.push(problemAt(place, path, 'is a line that YAML takes for a table: put it in quotes'));
    return undefined;
  }
  const rule = isLine ? ruleOfLine(String(written.value), target) : ruleOfTable(problems, item, target);
  if (rule === undefined) return undefined;
  const problem = ruleProblem(rule);
  if (problem === undefined) return rule;
  const at = (isLine ? undefined : readTable([], item, ruleKeys)?.at('condition')) ?? item;
  problems.push(problemAt(at.place, at.path, problem));
  return undefined;
}

function ruleOfTable(problems: Problem[], item: Spot, target: string): RuleText | undefined {
  const table = readTable(problems, item, ruleKeys, ['condition', 'action']);
  const condition = table?.text('condition', ruleLengthMax);
  const action = table?.word('action', { abort: 'abort', confirm: 'confirm', throttle: 'throttle' });
  const reason = table?.text('reason', ruleLengthMax);
  if (condition === undefined || action === undefined) return undefined;
  return { target, condition, action, ...(reason !== undefined && { reason }) };
}

/** Takes a line apart as it stands, so that what is filled in later cannot move a border. */
function ruleOfLine(text: string, target: string): RuleText {
  const line = text.trim().replace(/^B:\s*/, '');
  const parts = line.split('|');
  const conditionParts = line.startsWith('output:') ? 2 : 1;
  const condition = parts.slice(0, conditionParts).join('|').trim();
  const reason = unquote(
    parts
      .slice(conditionParts + 1)
      .join('|')
      .trim(),
  );
  return { target, condition, action: parts[conditionParts]?.trim() ?? '', ...(reason !== '' && { reason }) };
}
