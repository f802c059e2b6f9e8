/** One written condition with an action: `condition|action|"reason"`, with or without a leading `B:`. */

import { reasonLengthMax, ruleLengthMax } from '../../limits.ts';
import type { RuleText } from '../../settings.ts';
import { type Condition, type Failed, failed, parseCondition, printCondition, unquote } from './condition.ts';
import { parseTarget } from './target.ts';

/** What a fired rule does: end the task, ask a person, or slow down. */
export type RuleAction = 'abort' | 'confirm' | 'throttle';

/** Who wrote a rule; a model's may only tighten. */
export type Origin = 'operator' | 'model';

export interface Rule {
  /** Made of target, condition and action: the same rule has the same id wherever it is read. */
  readonly id: string;
  readonly target: string;
  readonly condition: Condition;
  readonly action: RuleAction;
  /** Undefined where the rule leaves its reason to what was seen. */
  readonly reason: string | undefined;
  readonly origin: Origin;
}

/** A rule, or in words why the text is none. */
export type ParsedRule = { readonly rule: Rule; readonly error?: undefined } | (Failed & { readonly rule?: undefined });

/** Whom a line is for and who wrote it; everybody and the operator unless said. */
export interface RuleFrom {
  readonly target?: string;
  readonly origin?: Origin;
}

/** Reads one line. Never throws; the time it takes grows with the length of the line, which is bounded. */
export function parseRule(text: string, from: RuleFrom = {}): ParsedRule {
  if (typeof text !== 'string') return failed('rule must be text', text);
  if (text.length > ruleLengthMax) return failed(`rule must have at most ${ruleLengthMax} characters`, text);
  const line = text.trim().replace(/^B:\s*/, '');
  const first = line.indexOf('|');
  const end = line.startsWith('output:') ? line.indexOf('|', first + 1) : first;
  if (first < 0 || end < 0) return failed('rule must be condition|action|"reason"', text);
  const rest = line.slice(end + 1);
  const next = rest.indexOf('|');
  return build(
    line.slice(0, end),
    next < 0 ? rest : rest.slice(0, next),
    next < 0 ? undefined : rest.slice(next + 1),
    from.target ?? '*',
    from.origin ?? 'operator',
  );
}

/** Reads a rule as it stands in a policy or chain file. */
export function ruleOf(text: RuleText, origin: Origin = 'operator'): ParsedRule {
  if (typeof text !== 'object' || text === null) return failed('rule must have condition, action and reason', text);
  const { target, condition, action, reason } = text;
  if (typeof condition !== 'string') return failed('condition must be text', condition);
  if (typeof action !== 'string') return failed('action must be text', action);
  if (reason !== undefined && typeof reason !== 'string') return failed('reason must be text', reason);
  if (condition.length + (reason?.length ?? 0) > ruleLengthMax) {
    return failed(`rule must have at most ${ruleLengthMax} characters`, condition);
  }
  return build(condition, action, reason, target ?? '*', origin);
}

/** The line of a rule; read for the same target and origin it gives the rule back. */
export function printRule(rule: Rule): string {
  const line = `${printCondition(rule.condition)}|${rule.action}`;
  return rule.reason === undefined ? line : `${line}|"${rule.reason}"`;
}

/** The same rule for another target. */
export function retarget(rule: Rule, target: string): Rule {
  return { ...rule, target, id: idOf(target, rule.condition, rule.action) };
}

function build(
  conditionText: string,
  actionText: string,
  reasonText: string | undefined,
  targetText: string,
  origin: Origin,
): ParsedRule {
  const target = parseTarget(targetText);
  if (target === undefined)
    return failed('target must be *, chain:id, tool:name, agent:name or a chain id', targetText);
  const parsed = parseCondition(conditionText);
  if (parsed.error !== undefined) return parsed;
  const action = actionText.trim();
  if (!isAction(action)) return failed('action must be abort, confirm or throttle', action);
  const { condition } = parsed;
  const reason = reasonText === undefined ? undefined : cleanReason(reasonText);
  return { rule: { id: idOf(target, condition, action), target, condition, action, reason, origin } };
}

function isAction(text: string): text is RuleAction {
  return text === 'abort' || text === 'confirm' || text === 'throttle';
}

function idOf(target: string, condition: Condition, action: RuleAction): string {
  return `${target}|${printCondition(condition)}|${action}`;
}

/** One line without its quotes; a reason of nothing is none. */
function cleanReason(text: string): string | undefined {
  const line = unquote(text.replace(/\p{Cc}+/gu, ' ').trim()).trim();
  return line.slice(0, reasonLengthMax).trim() || undefined;
}
