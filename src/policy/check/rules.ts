/** Checks written rules: a table with target, condition, action and reason, or a line `condition|action|"reason"`. */

import { printCondition } from '../../core/controls/rules/condition.ts';
import { parseRule, parseRuleText } from '../../core/controls/rules/rule.ts';
import { formatChoices, textProblem } from '../../core/declare/check-value.ts';
import { ruleLengthMax, rulesMax } from '../../core/limits.ts';
import type { Path } from '../../core/names.ts';
import { describeValue, isTable, type Table } from '../../core/plain-copy.ts';
import type { RuleText } from '../../core/settings.ts';
import { type DocumentEntry, readDocumentEntries } from './document-section.ts';
import { addProblem, type Report } from './report.ts';

const ruleFields = ['target', 'condition', 'action', 'reason'];

/** Reads the rules of a document, in order. An unreadable rule is a problem, never skipped. */
export function readPolicyRules(report: Report, { value, path }: DocumentEntry): readonly RuleText[] {
  if (!Array.isArray(value) || value.length > rulesMax) {
    addProblem(report, path, `must be a list of at most ${rulesMax} rules, got ${describeValue(value)}`);
    return [];
  }
  report.provenance.set('rules', { value: value.length, source: report.source });
  return value.flatMap((rule: unknown, index) => readPolicyRule(report, rule, [...path, index]) ?? []);
}

function readPolicyRule(report: Report, value: unknown, path: Path): RuleText | undefined {
  const before = report.problems.length;
  const parsed = typeof value === 'string' ? parseRule(value) : parseRuleText(readRuleFields(report, value, path));
  if (report.problems.length > before) return undefined; // The problems of its parts are reported already.
  if (parsed.error !== undefined) {
    addProblem(report, path, `is not a valid rule: ${parsed.error}`);
    return undefined;
  }
  const { target, condition, action, reason } = parsed.rule;
  return { target, condition: printCondition(condition), action, ...(reason !== undefined && { reason }) };
}

function readRuleFields(report: Report, value: unknown, path: Path): RuleText {
  const rule: Table = { target: '*' };
  if (!isTable(value)) addProblem(report, path, `must be a table or a text, got ${describeValue(value)}`);
  else {
    for (const entry of readDocumentEntries(report, value, path)) {
      const isField = ruleFields.includes(entry.name);
      const problem = isField
        ? textProblem(entry.value, ruleLengthMax)
        : `is not part of a rule; it has ${formatChoices(ruleFields)}`;
      if (problem) addProblem(report, entry.path, problem);
      else rule[entry.name] = entry.value;
    }
  }
  return rule as unknown as RuleText;
}
