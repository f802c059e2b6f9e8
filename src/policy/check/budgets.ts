/** Checks written budgets: each has a scope, a unit, a limit, and optionally a window. */

import { budgetFields } from '../../core/declare/general-sections.ts';
import { budgetsMax } from '../../core/limits.ts';
import type { Path } from '../../core/names.ts';
import { describeValue, isTable, type Table } from '../../core/plain-copy.ts';
import type { JointBudget } from '../../core/settings.ts';
import { checkSection, type DocumentEntry } from './document-section.ts';
import { addProblem, type Report } from './report.ts';

/** Reads the budgets of a document, in order. An unreadable budget is a problem, never skipped. */
export function readPolicyBudgets(report: Report, { value, path }: DocumentEntry): readonly JointBudget[] {
  if (!Array.isArray(value) || value.length > budgetsMax) {
    addProblem(report, path, `must be a list of at most ${budgetsMax} budgets, got ${describeValue(value)}`);
    return [];
  }
  const indexByKey = new Map<string, number>();
  const budgets = value.map((item: unknown, index) => {
    const itemPath = [...path, index];
    const budget = readPolicyBudget(report, item, itemPath);
    const key = JSON.stringify([budget.scope, budget.unit, budget.windowSecs]);
    const before = indexByKey.get(key);
    if (before !== undefined) addProblem(report, itemPath, `repeats budgets[${before}]: keep one of them`);
    indexByKey.set(key, index);
    return budget;
  });
  report.provenance.set('budgets', { value: value.length, source: report.source });
  return budgets;
}

function readPolicyBudget(report: Report, value: unknown, path: Path): JointBudget {
  const budget: Table = {};
  const before = report.problems.length;
  // Provenance is kept for the list as a whole.
  checkSection({ ...report, provenance: new Map() }, budgetFields, value, path, budget);
  if (isTable(value) && report.problems.length === before) {
    for (const name of ['scope', 'unit', 'limit']) {
      if (budget[name] === undefined) addProblem(report, path, `must set ${name}`);
    }
  }
  if (budget.windowSecs === undefined) delete budget.windowSecs;
  return budget as unknown as JointBudget;
}
