/** Which rules fire on what is at hand: a step, a single call, or its result. Frequency is counted elsewhere. */

import type { RuleHit } from '../../action.ts';
import { isMatch } from '../../glob.ts';
import { textLengthMax } from '../../limits.ts';
import type { RuleSettings } from '../../settings.ts';
import type { Condition, Frequency } from './condition.ts';
import { look, lookInArgs, numberOf, type Seen, textOf } from './lookup.ts';
import type { Rule } from './rule.ts';
import { isFor, namesTool } from './target.ts';

type Values = Readonly<Record<string, unknown>>;

/** A chain before a step: what came out so far, and the ability about to be called. */
export interface Step {
  readonly chain: string;
  readonly ability: string;
  readonly outputs: Values;
  readonly args?: Values | undefined;
  readonly params?: Values | undefined;
  readonly agent?: string | undefined;
}

/** A single call before it runs; `args` is its argument list, or the one argument object. */
export interface CallFacts {
  readonly tool: string;
  readonly agent: string;
  readonly args: unknown;
}

/** A single call after it ran. */
export interface ResultFacts {
  readonly tool: string;
  readonly agent: string;
  readonly result: unknown;
}

/** What one rule saw. */
export interface Row {
  readonly rule: Rule;
  readonly fired: boolean;
  readonly value: string;
  readonly limit: string;
}

interface Told {
  readonly value: string;
  readonly limit: string;
  /** The default reason. */
  readonly seen: string;
}

/** Words are made when somebody wants them: most rules look and do not fire. */
interface Look {
  readonly fired: boolean;
  readonly isMissing: boolean;
  readonly tell: () => Told;
}

/** Rules that fire before a step of a chain. */
export function matchStep(rules: readonly Rule[], step: Step, settings: RuleSettings): readonly RuleHit[] {
  return hitsOf(rules, (rule) => lookAtStep(rule, step, settings));
}

/** Rules that fire before a single call. */
export function matchCall(rules: readonly Rule[], call: CallFacts, settings: RuleSettings): readonly RuleHit[] {
  return hitsOf(rules, (rule) => lookAtCall(rule, call, settings));
}

/** Output rules that fire on the result of a single call. */
export function matchResult(rules: readonly Rule[], result: ResultFacts): readonly RuleHit[] {
  return hitsOf(rules, (rule) => lookAtResult(rule, result));
}

/** Every rule that looks at the step, fired or not. `runs` tells how often the chain ran in a window, now included. */
export function explainRules(
  rules: readonly Rule[],
  step: Step,
  settings: RuleSettings,
  runs?: (windowMs: number) => number,
): readonly Row[] {
  return rowsOf(rules, (rule) => {
    const { condition } = rule;
    const frequent = condition.kind === 'frequency' && runs !== undefined && isFor(rule.target, subjectOf(step));
    if (!frequent) return lookAtStep(rule, step, settings);
    const { fired, ...told } = lookAtCount(condition, runs(condition.windowMs));
    return { fired, isMissing: false, tell: () => told };
  });
}

/** Every rule that looks at a single call, fired or not. */
export function explainCall(rules: readonly Rule[], call: CallFacts, settings: RuleSettings): readonly Row[] {
  return rowsOf(rules, (rule) => lookAtCall(rule, call, settings));
}

/** What a frequency condition says to a count. */
export function lookAtCount({ count, text }: Frequency, runs: number): Told & { readonly fired: boolean } {
  const seen = `frequency ${runs} exceeds ${count} per ${text}`;
  return { fired: runs > count, value: `${runs}`, limit: `${count}/${text}`, seen };
}

const none: readonly RuleHit[] = Object.freeze([]);

function hitsOf(rules: readonly Rule[], look: (rule: Rule) => Look | undefined): readonly RuleHit[] {
  let hits: RuleHit[] | undefined;
  for (const rule of rules) {
    const at = look(rule);
    if (!at?.fired) continue;
    hits ??= [];
    hits.push({ rule: rule.id, seen: at.tell().seen });
  }
  return hits ?? none;
}

function rowsOf(rules: readonly Rule[], look: (rule: Rule) => Look | undefined): readonly Row[] {
  return rules.flatMap((rule) => {
    const seen = look(rule);
    if (seen === undefined) return [];
    const { value, limit } = seen.tell();
    return [{ rule, fired: seen.fired, value, limit }];
  });
}

function subjectOf(step: Step) {
  return { chain: step.chain, tool: step.ability, agent: step.agent };
}

function lookAtStep(rule: Rule, step: Step, settings: RuleSettings): Look | undefined {
  const { condition, target } = rule;
  if (target !== '*' && !isFor(target, subjectOf(step))) return undefined;
  switch (condition.kind) {
    case 'threshold':
      return atThreshold(condition, lookIn(settings.lookup, step, condition.key), settings.onMissing === 'fire', true);
    case 'ability':
      return atAbility(condition.pattern, step.ability);
    case 'output':
      return atOutput(condition, look(step.outputs, condition.key));
    case 'frequency':
      return undefined;
  }
}

function lookIn(places: RuleSettings['lookup'], step: Step, key: string): Seen {
  for (const place of places) {
    const seen = look(step[place], key);
    if (seen.kind !== 'missing') return seen;
  }
  return { kind: 'missing' };
}

function lookAtCall(rule: Rule, { tool, agent, args }: CallFacts, settings: RuleSettings): Look | undefined {
  const { condition, target } = rule;
  if (!isFor(target, { tool, agent })) return undefined;
  if (condition.kind === 'ability') return atAbility(condition.pattern, tool);
  if (condition.kind !== 'threshold') return undefined;
  // A rule for everybody meets calls that have nothing to do with its key; a rule for this tool knows what it carries.
  const strict = namesTool(target, tool);
  const looks = lookInArgs(args, condition.key).map((seen) =>
    atThreshold(condition, seen, strict && settings.onMissing === 'fire', strict),
  );
  const carried = looks.filter((at) => !at.isMissing);
  return carried.find((at) => at.fired) ?? carried[0] ?? looks[0];
}

function lookAtResult(rule: Rule, { tool, agent, result }: ResultFacts): Look | undefined {
  const { condition, target } = rule;
  if (condition.kind !== 'output' || !isFor(target, { tool, agent })) return undefined;
  if (typeof result !== 'string') return atOutput(condition, look(result, condition.key));
  // Many tools answer in JSON; any other text has no keys, and is itself the output of a tool that the rule names.
  const field = look(parseJson(result), condition.key);
  const whole = field.kind === 'missing' && (namesTool(target, tool) || condition.key === 'result');
  return atOutput(condition, whole ? { kind: 'value', value: result } : field);
}

function atThreshold(
  { key, value: limit }: Extract<Condition, { kind: 'threshold' }>,
  seen: Seen,
  onMissing: boolean,
  onInvalid: boolean,
): Look {
  const unknown = (fired: boolean, value: string, what: string): Look => {
    const tell = () => ({ value, limit: `${limit}`, seen: `${key} ${what}, threshold ${limit}` });
    return { fired, isMissing: seen.kind === 'missing', tell };
  };
  if (seen.kind === 'missing') return unknown(onMissing, 'missing', 'is missing');
  if (seen.kind === 'unreadable') return unknown(true, 'unreadable', 'cannot be read');
  const number = numberOf(seen.value);
  // NaN and Infinity are numbers by type, so somebody meant the key: they fire for everybody.
  if (number === undefined)
    return unknown(onInvalid || typeof seen.value === 'number', 'not a number', 'is not a number');
  const tell = () => ({ value: `${number}`, limit: `${limit}`, seen: `${key} ${number} exceeds threshold ${limit}` });
  return { fired: number > limit, isMissing: false, tell };
}

function atAbility(pattern: string, name: string): Look {
  const tell = () => ({ value: name, limit: pattern, seen: `ability ${name} is about to be called` });
  return { fired: isMatch(pattern, name), isMissing: false, tell };
}

function atOutput({ key, contains }: Extract<Condition, { kind: 'output' }>, seen: Seen): Look {
  const text = seen.kind === 'value' ? textOf(seen.value) : undefined;
  const isMissing = seen.kind === 'missing';
  const tell = (): Told => {
    if (isMissing) return { value: 'missing', limit: contains, seen: '' };
    if (text === undefined) return { value: 'unreadable', limit: contains, seen: `${key} cannot be read` };
    return { value: text, limit: contains, seen: seenInOutput({ key, contains }) };
  };
  return { fired: !isMissing && (text === undefined || text.includes(contains)), isMissing, tell };
}

/** What a rule on an output says by itself when it fires. */
export function seenInOutput({ key, contains }: { readonly key: string; readonly contains: string }): string {
  return `${key} contains ${JSON.stringify(contains)}`;
}

function parseJson(text: string): unknown {
  if (text.length > textLengthMax || !/^\s*\{/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
