/** Parses and prints a rule: `condition|action|"reason"`, with or without a leading `B:`. */

import { reasonLengthMax, ruleLengthMax } from '../../limits.ts';
import type { RuleText } from '../../settings.ts';
import {
  type Condition,
  type ParseFailure,
  parseCondition,
  parseFailure,
  printCondition,
  unquote,
} from './condition.ts';
import { parseTarget } from './target.ts';

/** The effect of a fired rule: halt the task, ask a person, or throttle. */
export type RuleAction = 'abort' | 'confirm' | 'throttle';

/** The author of a rule; a model's rule may only tighten. */
export type RuleOrigin = 'operator' | 'model';

/** A parsed rule. */
export interface Rule {
  /** Derived from target, condition and action: equal rules have equal ids. */
  readonly id: string;
  readonly target: string;
  readonly condition: Condition;
  readonly action: RuleAction;
  /** Undefined if the rule uses the default reason, the observed value. */
  readonly reason: string | undefined;
  readonly origin: RuleOrigin;
}

/** A rule, or why the text is invalid. */
export type ParsedRule =
  | { readonly rule: Rule; readonly error?: undefined }
  | (ParseFailure & { readonly rule?: undefined });

/** The target and author of a line. @default target `*`, origin operator */
export interface RuleSource {
  readonly target?: string;
  readonly origin?: RuleOrigin;
}

/** Parses one line. Never throws; the time is linear in the bounded length of the line. */
export function parseRule(text: string, source: RuleSource = {}): ParsedRule {
  if (typeof text !== 'string') return parseFailure('rule must be text', text);
  if (text.length > ruleLengthMax) return parseFailure(`rule must have at most ${ruleLengthMax} characters`, text);
  const line = text.trim().replace(/^B:\s*/, '');
  const first = line.indexOf('|');
  const end = line.startsWith('output:') ? line.indexOf('|', first + 1) : first;
  if (first < 0 || end < 0) return parseFailure('rule must be condition|action|"reason"', text);
  const rest = line.slice(end + 1);
  const next = rest.indexOf('|');
  return buildRule(
    line.slice(0, end),
    next < 0 ? rest : rest.slice(0, next),
    next < 0 ? undefined : rest.slice(next + 1),
    source.target ?? '*',
    source.origin ?? 'operator',
  );
}

/** Parses a rule of a policy or chain file. */
export function parseRuleText(text: RuleText, origin: RuleOrigin = 'operator'): ParsedRule {
  if (typeof text !== 'object' || text === null)
    return parseFailure('rule must have condition, action and reason', text);
  const { target, condition, action, reason } = text;
  if (typeof condition !== 'string') return parseFailure('condition must be text', condition);
  if (typeof action !== 'string') return parseFailure('action must be text', action);
  if (reason !== undefined && typeof reason !== 'string') return parseFailure('reason must be text', reason);
  if (condition.length + (reason?.length ?? 0) > ruleLengthMax) {
    return parseFailure(`rule must have at most ${ruleLengthMax} characters`, condition);
  }
  return buildRule(condition, action, reason, target ?? '*', origin);
}

/** Prints a rule as a line; parsing it for the same target and origin returns the same rule. */
export function printRule(rule: Rule): string {
  const line = `${printCondition(rule.condition)}|${rule.action}`;
  return rule.reason === undefined ? line : `${line}|"${rule.reason}"`;
}

/** Returns the same rule for another target. */
export function retarget(rule: Rule, target: string): Rule {
  return { ...rule, target, id: ruleId(target, rule.condition, rule.action) };
}

function buildRule(
  conditionText: string,
  actionText: string,
  reasonText: string | undefined,
  targetText: string,
  origin: RuleOrigin,
): ParsedRule {
  const target = parseTarget(targetText);
  if (target === undefined)
    return parseFailure('target must be *, chain:id, tool:name, agent:name or a chain id', targetText);
  const parsed = parseCondition(conditionText);
  if (parsed.error !== undefined) return parsed;
  const action = actionText.trim();
  if (!isAction(action)) return parseFailure('action must be abort, confirm or throttle', action);
  const { condition } = parsed;
  const reason = reasonText === undefined ? undefined : cleanReason(reasonText);
  return { rule: { id: ruleId(target, condition, action), target, condition, action, reason, origin } };
}

function isAction(text: string): text is RuleAction {
  return text === 'abort' || text === 'confirm' || text === 'throttle';
}

function ruleId(target: string, condition: Condition, action: RuleAction): string {
  return `${target}|${printCondition(condition)}|${action}`;
}

/** One line without its quotes; an empty reason is undefined. */
function cleanReason(text: string): string | undefined {
  const line = unquote(text.replace(/\p{Cc}+/gu, ' ').trim()).trim();
  return line.slice(0, reasonLengthMax).trim() || undefined;
}
