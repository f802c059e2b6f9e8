/** Evaluates the condition of a step: compares an output or parameter with a value. A missing value never matches. */

import { parseNumber, stringifyValue } from '../../core/controls/rules/read-key.ts';
import { isMatch } from '../../core/glob.ts';
import { describeValue } from '../../core/plain-copy.ts';
import type { StepCondition, StepOp } from './chain.ts';
import { fillTemplates, resolveName, type TemplateScope } from './template.ts';

/** Every spelling of a comparison, with its operator. */
export const operators: Readonly<Record<string, StepOp>> = {
  equals: 'equals',
  not_equals: 'not_equals',
  less_than: 'less_than',
  less_or_equal: 'less_or_equal',
  greater_than: 'greater_than',
  greater_or_equal: 'greater_or_equal',
  contains: 'contains',
  not_contains: 'not_contains',
  starts_with: 'starts_with',
  ends_with: 'ends_with',
  matches: 'matches',
  in: 'in',
  exists: 'exists',
  not_exists: 'not_exists',
  is_empty: 'is_empty',
  is_not_empty: 'is_not_empty',
  '==': 'equals',
  '!=': 'not_equals',
  '<': 'less_than',
  '<=': 'less_or_equal',
  '>': 'greater_than',
  '>=': 'greater_or_equal',
  eq: 'equals',
  ne: 'not_equals',
  lt: 'less_than',
  lte: 'less_or_equal',
  gt: 'greater_than',
  gte: 'greater_or_equal',
};

const unaryOps: ReadonlySet<StepOp> = new Set(['exists', 'not_exists', 'is_empty', 'is_not_empty']);

/** Whether an operator has no value to compare with, such as `exists`. */
export function isUnary(op: StepOp): boolean {
  return unaryOps.has(op);
}

/** Whether a step may run. Throws `unfilled_template` if the value to compare with cannot be filled. */
export function evaluateCondition(condition: StepCondition, scope: TemplateScope): boolean {
  const reference = resolveName(condition.refKey, scope);
  if (reference.kind === 'unreadable') return false;
  const isPresent = reference.kind === 'value';
  const left = isPresent ? reference.value : undefined;
  switch (condition.op) {
    case 'exists':
      return isPresent;
    case 'not_exists':
      return !isPresent;
    case 'is_empty':
      return isEmpty(left);
    case 'is_not_empty':
      return !isEmpty(left);
  }
  return isPresent && compareValues(condition.op, left, fillTemplates(condition.value, scope));
}

/** Describes a condition that does not hold, in one sentence. */
export function explainSkip(condition: StepCondition, scope: TemplateScope): string {
  const { refKey, op, value } = condition;
  const reference = resolveName(refKey, scope);
  const actual = reference.kind === 'value' ? describeValue(reference.value) : reference.kind;
  const operand = isUnary(op) ? '' : ` ${describeValue(fillTemplates(value, scope))}`;
  return `${refKey} (${actual}) ${op}${operand} does not hold`;
}

type Comparison = Exclude<StepOp, 'exists' | 'not_exists' | 'is_empty' | 'is_not_empty'>;

function compareValues(op: Comparison, left: unknown, right: unknown): boolean {
  switch (op) {
    case 'equals':
      return isSame(left, right);
    case 'not_equals':
      return !isSame(left, right);
    case 'less_than':
      return compareNumbers(left, right, (a, b) => a < b);
    case 'less_or_equal':
      return compareNumbers(left, right, (a, b) => a <= b);
    case 'greater_than':
      return compareNumbers(left, right, (a, b) => a > b);
    case 'greater_or_equal':
      return compareNumbers(left, right, (a, b) => a >= b);
    case 'contains':
      return includesValue(left, right);
    case 'not_contains':
      return !includesValue(left, right);
    case 'starts_with':
      return compareTexts(left, right, (text, part) => text.startsWith(part));
    case 'ends_with':
      return compareTexts(left, right, (text, part) => text.endsWith(part));
    case 'matches':
      return compareTexts(left, right, (text, pattern) => isMatch(pattern, text));
    case 'in':
      return listChoices(right).some((choice) => isSame(left, choice));
  }
}

/** Compares two values as numbers if both can be read as numbers: outputs are often text. */
function isSame(left: unknown, right: unknown): boolean {
  const a = parseNumber(left);
  const b = parseNumber(right);
  return a !== undefined && b !== undefined ? a === b : compareTexts(left, right, (text, operand) => text === operand);
}

function compareNumbers(left: unknown, right: unknown, fits: (a: number, b: number) => boolean): boolean {
  const a = parseNumber(left);
  const b = parseNumber(right);
  return a !== undefined && b !== undefined && fits(a, b);
}

function compareTexts(left: unknown, right: unknown, fits: (text: string, operand: string) => boolean): boolean {
  const text = stringifyValue(left);
  const operand = stringifyValue(right);
  return text !== undefined && operand !== undefined && fits(text, operand);
}

/** Whether a list has the item, or any other value has the part in its text. */
function includesValue(left: unknown, right: unknown): boolean {
  if (Array.isArray(left)) return left.some((item) => isSame(item, right));
  return compareTexts(left, right, (text, part) => text.includes(part));
}

/** The items of a list, or of a text with commas, as a parameter holds it. */
function listChoices(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return typeof value === 'string' ? value.split(',').map((part) => part.trim()) : [value];
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
