/** Evaluates which rules fire on a chain step, a single call, or its result. Frequency rules are counted elsewhere. */

import type { RuleHit } from '../../action.ts';
import { peek } from '../../classify.ts';
import { isMatch } from '../../glob.ts';
import { foreignEntriesMax, parsedTextMax } from '../../limits.ts';
import type { RuleSettings } from '../../settings.ts';
import type { Condition, Frequency } from './condition.ts';
import { type LookupResult, parseNumber, readKey, readKeyInArgs, stringifyValue } from './read-key.ts';
import type { Rule } from './rule.ts';
import { isFor, namesTool } from './target.ts';

type Values = Readonly<Record<string, unknown>>;

/** A chain before a step: its outputs so far, and the ability of the step. */
export interface StepFacts {
  readonly chain: string;
  readonly ability: string;
  readonly outputs: Values;
  readonly args?: Values | undefined;
  readonly params?: Values | undefined;
  readonly agent?: string | undefined;
}

/** A single call before it runs; `args` is its argument list, or its one argument object. */
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

/** The finding of one rule. */
export interface RuleExplanation {
  readonly rule: Rule;
  readonly fired: boolean;
  readonly value: string;
  readonly limit: string;
}

interface Finding {
  readonly value: string;
  readonly limit: string;
  /** The default reason. */
  readonly seen: string;
}

/** The text is created lazily: most rules do not fire. */
interface ConditionCheck {
  readonly fired: boolean;
  readonly isMissing: boolean;
  readonly describe: () => Finding;
}

/** Returns the rules that fire before a chain step. */
export function matchStep(rules: readonly Rule[], step: StepFacts, settings: RuleSettings): readonly RuleHit[] {
  return collectHits(rules, (rule) => checkStep(rule, step, settings));
}

/** Returns the rules that fire before a single call. */
export function matchCall(rules: readonly Rule[], call: CallFacts, settings: RuleSettings): readonly RuleHit[] {
  return collectHits(rules, (rule) => checkCall(rule, call, settings));
}

/** Returns the output rules that fire on the result of a single call. */
export function matchResult(rules: readonly Rule[], result: ResultFacts): readonly RuleHit[] {
  return collectHits(rules, (rule) => checkResult(rule, result));
}

/**
 * Returns the finding of every rule for a step. `runs` returns the runs of the chain in a window, this run included.
 */
export function explainRules(
  rules: readonly Rule[],
  step: StepFacts,
  settings: RuleSettings,
  runs?: (windowMs: number) => number,
): readonly RuleExplanation[] {
  return explainEach(rules, (rule) => {
    const { condition } = rule;
    const frequent = condition.kind === 'frequency' && runs !== undefined && isFor(rule.target, stepSubject(step));
    if (!frequent) return checkStep(rule, step, settings);
    const { fired, ...finding } = checkCount(condition, runs(condition.windowMs));
    return { fired, isMissing: false, describe: () => finding };
  });
}

/** Returns the finding of every rule for a single call. */
export function explainCall(
  rules: readonly Rule[],
  call: CallFacts,
  settings: RuleSettings,
): readonly RuleExplanation[] {
  return explainEach(rules, (rule) => checkCall(rule, call, settings));
}

/** Checks a count against a frequency condition. */
export function checkCount({ count, text }: Frequency, runs: number): Finding & { readonly fired: boolean } {
  const seen = `frequency ${runs} exceeds ${count} per ${text}`;
  return { fired: runs > count, value: `${runs}`, limit: `${count}/${text}`, seen };
}

const none: readonly RuleHit[] = Object.freeze([]);

function collectHits(
  rules: readonly Rule[],
  evaluateRule: (rule: Rule) => ConditionCheck | undefined,
): readonly RuleHit[] {
  let hits: RuleHit[] | undefined;
  for (const rule of rules) {
    const check = evaluateRule(rule);
    if (!check?.fired) continue;
    hits ??= [];
    hits.push({ rule: rule.id, seen: check.describe().seen });
  }
  return hits ?? none;
}

function explainEach(
  rules: readonly Rule[],
  evaluateRule: (rule: Rule) => ConditionCheck | undefined,
): readonly RuleExplanation[] {
  return rules.flatMap((rule) => {
    const check = evaluateRule(rule);
    if (check === undefined) return [];
    const { value, limit } = check.describe();
    return [{ rule, fired: check.fired, value, limit }];
  });
}

function stepSubject(step: StepFacts) {
  return { chain: step.chain, tool: step.ability, agent: step.agent };
}

function checkStep(rule: Rule, step: StepFacts, settings: RuleSettings): ConditionCheck | undefined {
  const { condition, target } = rule;
  if (target !== '*' && !isFor(target, stepSubject(step))) return undefined;
  switch (condition.kind) {
    case 'threshold':
      return checkThreshold(
        condition,
        readFromSources(settings.lookup, step, condition.key),
        settings.onMissing === 'fire',
      );
    case 'ability':
      return checkAbility(condition.pattern, step.ability);
    case 'output':
      return checkOutput(condition, readKey(step.outputs, condition.key));
    case 'frequency':
      return undefined;
  }
}

function readFromSources(sources: RuleSettings['lookup'], step: StepFacts, key: string): LookupResult {
  for (const source of sources) {
    const lookup = readKey(step[source], key);
    if (lookup.kind !== 'missing') return lookup;
  }
  return { kind: 'missing' };
}

function checkCall(rule: Rule, { tool, agent, args }: CallFacts, settings: RuleSettings): ConditionCheck | undefined {
  const { condition, target } = rule;
  if (!isFor(target, { tool, agent })) return undefined;
  if (condition.kind === 'ability') return checkAbility(condition.pattern, tool);
  if (condition.kind !== 'threshold') return undefined;
  // A rule for all tools also checks calls without its key; the author of a rule for this tool knows its arguments.
  const strict = namesTool(target, tool);
  const checks = readKeyInArgs(args, condition.key).map((lookup) =>
    checkThreshold(condition, lookup, strict && settings.onMissing === 'fire'),
  );
  const carried = checks.filter((check) => !check.isMissing);
  return carried.find((check) => check.fired) ?? carried[0] ?? checks[0];
}

function checkResult(rule: Rule, { tool, agent, result }: ResultFacts): ConditionCheck | undefined {
  const { condition, target } = rule;
  if (condition.kind !== 'output' || !isFor(target, { tool, agent })) return undefined;
  const texts = listTexts(result);
  const lookups = [result, peek(result, 'structuredContent'), ...texts.map(parseJson)].map((source) =>
    typeof source === 'string' ? missing : readKey(source, condition.key),
  );
  const checks = lookups.filter(({ kind }) => kind !== 'missing').map((lookup) => checkOutput(condition, lookup));
  if (checks.length > 0) return checks.find(({ fired }) => fired) ?? checks[0];
  // A text without keys, or too long to be parsed: for a tool that the rule names, the text is the output.
  const isWhole = namesTool(target, tool) || condition.key === 'result';
  const searched = texts.filter((text) => isWhole || text.length > parsedTextMax);
  const whole = searched.map((value) => checkOutput(condition, { kind: 'value', value }));
  return whole.find(({ fired }) => fired) ?? whole[0] ?? checkOutput(condition, missing);
}

const missing: LookupResult = Object.freeze({ kind: 'missing' });

/** The texts of a result: the result itself, or the text blocks of a result in the shape of MCP. */
function listTexts(result: unknown): readonly string[] {
  if (typeof result === 'string') return [result];
  try {
    const blocks: unknown = Array.isArray(result) ? result : peek(result, 'content');
    if (typeof blocks === 'string') return [blocks];
    if (!Array.isArray(blocks)) return [];
    return blocks.slice(0, foreignEntriesMax).flatMap((block) => {
      const text = peek(block, 'text') ?? peek(peek(block, 'resource'), 'text');
      return typeof text === 'string' ? [text] : [];
    });
  } catch {
    return []; // A proxy that throws.
  }
}

function checkThreshold(
  { key, value: limit }: Extract<Condition, { kind: 'threshold' }>,
  lookup: LookupResult,
  onMissing: boolean,
): ConditionCheck {
  const unknown = (fired: boolean, value: string, problem: string): ConditionCheck => {
    const describe = () => ({ value, limit: `${limit}`, seen: `${key} ${problem}, threshold ${limit}` });
    return { fired, isMissing: lookup.kind === 'missing', describe };
  };
  if (lookup.kind === 'missing') return unknown(onMissing, 'missing', 'is missing');
  if (lookup.kind === 'unreadable') return unknown(true, 'unreadable', 'cannot be read');
  const number = parseNumber(lookup.value);
  // The key is meant, and its amount is unknown: "1,000", "$1000", [1000], "0x3e8".
  if (number === undefined) return unknown(true, 'not a number', 'is not a number');
  const describe = () => ({
    value: `${number}`,
    limit: `${limit}`,
    seen: `${key} ${number} exceeds threshold ${limit}`,
  });
  return { fired: number > limit, isMissing: false, describe };
}

function checkAbility(pattern: string, name: string): ConditionCheck {
  const describe = () => ({ value: name, limit: pattern, seen: `ability ${name} is about to be called` });
  return { fired: isMatch(pattern, name), isMissing: false, describe };
}

function checkOutput({ key, contains }: Extract<Condition, { kind: 'output' }>, lookup: LookupResult): ConditionCheck {
  const text = lookup.kind === 'value' ? stringifyValue(lookup.value) : undefined;
  const isMissing = lookup.kind === 'missing';
  const describe = (): Finding => {
    if (isMissing) return { value: 'missing', limit: contains, seen: '' };
    if (text === undefined) return { value: 'unreadable', limit: contains, seen: `${key} cannot be read` };
    return { value: text, limit: contains, seen: describeOutputHit({ key, contains }) };
  };
  return { fired: !isMissing && (text === undefined || text.includes(contains)), isMissing, describe };
}

/** The default reason of an output rule. */
export function describeOutputHit({ key, contains }: { readonly key: string; readonly contains: string }): string {
  return `${key} contains ${JSON.stringify(contains)}`;
}

function parseJson(text: string): unknown {
  if (text.length > parsedTextMax || !/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
