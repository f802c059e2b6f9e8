/** `circuit_breakers` of a chain file: tables of condition, action and reason, or lines `condition|action|"reason"`. */

import { unquote } from '../../core/controls/rules/condition.ts';
import { chainRulesMax, ruleLengthMax } from '../../core/limits.ts';
import type { RuleText } from '../../core/settings.ts';
import { checkRuleText } from './chain-rules.ts';
import { makeProblem, type Problem } from './problem.ts';
import { describeNode, type LocatedNode, readTable, type TableReader } from './table-reader.ts';

const ruleKeys: readonly string[] = ['condition', 'action', 'reason'];

/** Reads the rules, one for each item of the list; an invalid item is a problem and keeps its place in the list. */
export function readRules(problems: Problem[], chain: TableReader, target: string): readonly RuleText[] {
  const items = chain.list('circuit_breakers', chainRulesMax) ?? [];
  return items.map((item) => readRule(problems, item, target) ?? { target, condition: '', action: 'abort' });
}

function readRule(problems: Problem[], item: LocatedNode, target: string): RuleText | undefined {
  const { node, path, position } = item;
  const isLine = node.kind === 'value' && typeof node.value === 'string';
  if (node.kind !== 'table' && node.kind !== 'invalid' && !isLine) {
    problems.push(
      makeProblem(position, path, `must be a table or a line condition|action|"reason", got ${describeNode(node)}`),
    );
    return undefined;
  }
  if (node.kind === 'table' && node.entries.has('B')) {
    problems.push(makeProblem(position, path, 'is a line that YAML takes for a table: put it in quotes'));
    return undefined;
  }
  const rule = isLine ? parseRuleLine(String(node.value), target) : readRuleTable(problems, item, target);
  if (rule === undefined) return undefined;
  const problem = checkRuleText(rule);
  if (problem === undefined) return rule;
  const culprit = (isLine ? undefined : readTable([], item, ruleKeys)?.find('condition')) ?? item;
  problems.push(makeProblem(culprit.position, culprit.path, problem));
  return undefined;
}

function readRuleTable(problems: Problem[], item: LocatedNode, target: string): RuleText | undefined {
  const table = readTable(problems, item, ruleKeys, ['condition', 'action']);
  const condition = table?.text('condition', ruleLengthMax);
  const action = table?.choice('action', { abort: 'abort', confirm: 'confirm', throttle: 'throttle' });
  const reason = table?.text('reason', ruleLengthMax);
  if (condition === undefined || action === undefined) return undefined;
  return { target, condition, action, ...(reason !== undefined && { reason }) };
}

/** Splits a line before its parameters are filled, so that a filled `|` cannot start another piece. */
function parseRuleLine(text: string, target: string): RuleText {
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
  const action = (parts[conditionParts]?.trim() ?? '') as RuleText['action']; // `checkRuleText` refuses another word.
  return { target, condition, action, ...(reason !== '' && { reason }) };
}
