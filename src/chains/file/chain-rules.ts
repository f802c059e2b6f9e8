/**
 * The rules of a chain. A rule may contain `{{…}}`, which is filled from the parameters when a run starts.
 * A parameter fills one piece of a condition (a key, a number, a window, a name, a text), never the whole line: a
 * parameter cannot add a condition, an action or a second rule.
 */

import { type Condition, parseCondition, printCondition } from '../../core/controls/rules/condition.ts';
import { parseRuleText } from '../../core/controls/rules/rule.ts';
import { SwitchgearError } from '../../core/error.ts';
import { reasonLengthMax } from '../../core/limits.ts';
import { describeValue } from '../../core/plain-copy.ts';
import type { RuleText } from '../../core/settings.ts';
import type { Chain, ParamValues } from './chain.ts';
import { collectNames, fillTemplates, parseTemplate } from './template.ts';

/** A condition split into its pieces, each of which may contain `{{…}}`. */
export interface ConditionTemplate {
  readonly kind: Condition['kind'];
  readonly parts: readonly string[];
}

/** Splits a condition into its pieces; undefined if the text is not a condition. */
export function parseConditionTemplate(text: string): ConditionTemplate | undefined {
  const line = text.trim();
  if (line.startsWith('ability:')) return { kind: 'ability', parts: [line.slice(8).trim()] };
  if (line.startsWith('output:')) {
    const [key, rest] = splitAt(line.slice(7), '|');
    return rest?.startsWith('contains:') ? { kind: 'output', parts: [key, rest.slice(9).trim()] } : undefined;
  }
  const [key, value] = splitAt(line, '>');
  if (value === undefined) return undefined;
  if (key !== 'frequency') return { kind: 'threshold', parts: [key, value] };
  const [count, window] = splitAt(value, '/');
  return { kind: 'frequency', parts: window === undefined ? [count] : [count, window] };
}

/** The rules of a run with filled parameters. Throws `invalid_params` if a filled rule is not a valid rule. */
export function chainRules(chain: Pick<Chain, 'id' | 'rules'>, params: ParamValues): readonly RuleText[] {
  return chain.rules.map((rule, index) => {
    const filled = fillRule({ ...rule, target: `chain:${chain.id}` }, params);
    const problem = 'error' in filled ? filled.error : parseRuleText(filled).error;
    if (problem === undefined) return filled as RuleText;
    throw new SwitchgearError('invalid_params', `circuit_breakers[${index}] cannot be filled in: ${problem}`);
  });
}

/** Returns why a rule is invalid for any parameters; undefined if the rule is valid. */
export function checkRuleText({ target, condition, action, reason }: RuleText): string | undefined {
  const bad = [condition, reason ?? ''].map(parseTemplate).find(({ error }) => error !== undefined);
  if (bad !== undefined) return bad.error;
  const sample = makeSample(condition);
  const { error } = parseRuleText({ target, condition: sample, action });
  return error === undefined ? undefined : `is not a valid rule: ${error.replace(sample, () => condition)}`;
}

function fillRule(rule: RuleText, params: ParamValues): RuleText | { readonly error: string } {
  const scope = { params, outputs: {} };
  try {
    const reason = rule.reason && String(fillTemplates(rule.reason, scope)).slice(0, reasonLengthMax);
    const condition = fillCondition(rule.condition, params);
    return { ...rule, condition, ...(reason !== undefined && { reason }) };
  } catch (error) {
    if (error instanceof SwitchgearError) return { error: error.message };
    throw error;
  }
}

function fillCondition(text: string, params: ParamValues): string {
  const names = collectNames(text);
  if (names.length === 0) return text;
  for (const name of names) {
    const value = Object.hasOwn(params, name) ? String(params[name]) : '';
    if (/[|"'\p{Cc}]/u.test(value) || value.trim() === '')
      throw paramsError(
        `${name} is used in a rule's condition and must be text without | or quotes, got ${describeValue(value)}`,
      );
  }
  const template = parseConditionTemplate(text);
  const parts = template?.parts.map((part) => String(fillTemplates(part, { params, outputs: {} })).trim());
  if (template === undefined || parts === undefined) throw paramsError(`${describeValue(text)} is not a condition`);
  const filled = joinCondition(template.kind, parts);
  const reparsed = parseConditionTemplate(filled);
  // The filled condition must split into the same pieces, else a parameter added more than one piece.
  if (reparsed?.kind !== template.kind || reparsed.parts.join('|') !== parts.join('|'))
    throw paramsError(
      `the parameters change the form of the condition ${describeValue(text)}: it becomes ${describeValue(filled)}`,
    );
  const { condition, error } = parseCondition(filled) as { condition: Condition; error?: string };
  if (error !== undefined) throw paramsError(error);
  return printCondition(condition);
}

function paramsError(message: string): SwitchgearError {
  return new SwitchgearError('invalid_params', message);
}

function joinCondition(kind: ConditionTemplate['kind'], [first = '', second]: readonly string[]): string {
  switch (kind) {
    case 'ability':
      return `ability:${first}`;
    case 'output':
      return `output:${first}|contains:${second}`;
    case 'threshold':
      return `${first}>${second}`;
    case 'frequency':
      return second === undefined ? `frequency>${first}` : `frequency>${first}/${second}`;
  }
}

/** The condition with a valid sample value in place of each name. */
function makeSample(condition: string): string {
  const template = parseConditionTemplate(condition);
  if (template === undefined) return condition;
  const parts = template.parts.map((part, at) => {
    const isWindow = template.kind === 'frequency' && at === 1 && /^\{\{[^{}]*\}\}$/.test(part);
    return part.replace(/\{\{[^{}]*\}\}/g, isWindow ? '1h' : '1');
  });
  return joinCondition(template.kind, parts);
}

function splitAt(text: string, at: string): [string, string | undefined] {
  const index = text.indexOf(at);
  return index < 0 ? [text.trim(), undefined] : [text.slice(0, index).trim(), text.slice(index + 1).trim()];
}
