/** The rules control: judges the rules that fired on an action, the frequency of its target, and due output rules. */

import type { Action, RuleHit } from '../../action.ts';
import type { Control } from '../../control.ts';
import type { ActionDecided, ActionSettled } from '../../event.ts';
import type { RuleSettings } from '../../settings.ts';
import { allow, type Counters, type Stop, stricter, type Verdict } from '../../verdict.ts';
import { type BoundedRecord, createBoundedRecord, dropItem, putItem } from './bounded-record.ts';
import type { Frequency } from './condition.ts';
import { checkCount } from './evaluate.ts';
import { createHistory, freeAtMs, type History, recordTime } from './history.ts';
import type { Rule, RuleAction } from './rule.ts';
import { isFor } from './target.ts';

/** The state of all rules of a gear, plain JSON. */
export interface RulesState {
  /** Admission times for frequency rules, by rule, and by chain if the rule counts runs. */
  readonly times: BoundedRecord<History>;
  /** The last admission under a throttle without a frequency, by rule. */
  readonly spaced: BoundedRecord<number>;
  /** Output rules that fired on a result and wait for the next action of its task. */
  readonly due: BoundedRecord<readonly DueHit[]>;
}

/** An output rule that fired and waits for the next action. */
export interface DueHit extends RuleHit {
  readonly atMs: number;
}

/** A control that also reports at once that a result halts its task. */
export interface RulesControl extends Control<RulesState> {
  /** The halt that a result of this action's task caused, or allow. */
  due(state: RulesState, action: Action): Verdict;
  /** The frequency rules that count an action, with their histories. */
  countingRules(action: Action): readonly CountedRule[];
  /** The verdict of a rule on an action beyond its count; also used for counts kept elsewhere. */
  judgeOverCount(rule: CountedRule, action: Action, atMs: number, freeAtMs: number): Verdict;
}

/** A frequency rule that counts an action, and the key of its history. */
export interface CountedRule {
  readonly rule: Rule;
  readonly condition: Frequency;
  readonly key: string;
}

interface Fired {
  readonly rule: Rule;
  readonly reason: string;
  /** When a throttle ends; absent if unknown, Infinity = never. */
  readonly freeAtMs?: number;
}

const name = 'rules';
const runPrefix = 'chain:';

/** The name of the `step` action that stands for a whole chain run: frequency rules count runs of chains. */
export function chainRunName(chain: string): string {
  return `${runPrefix}${chain}`;
}

/** Whether an action stands for a whole chain run. */
export function isChainRun({ kind, name: run }: Action): boolean {
  return kind === 'step' && run.startsWith(runPrefix);
}

/** The rules of a control, as `judge` and `apply` look them up. */
interface RuleTable {
  readonly byId: ReadonlyMap<string, Rule>;
  readonly frequent: readonly FrequencyRule[];
  readonly settings: RuleSettings;
}

type FrequencyRule = Pick<CountedRule, 'rule' | 'condition'>;

/** Creates the control of these rules. Another set of rules may continue with the same state. */
export function rulesControl(rules: readonly Rule[], settings: RuleSettings): RulesControl {
  const frequent = rules.flatMap((rule) => {
    return rule.condition.kind === 'frequency' ? [{ rule, condition: rule.condition }] : [];
  });
  const table: RuleTable = { byId: new Map(rules.map((rule) => [rule.id, rule])), frequent, settings };
  return {
    name,
    scope: 'gear',
    initial: () => ({ times: createBoundedRecord(), spaced: createBoundedRecord(), due: createBoundedRecord() }),
    judge(state, { action, atMs }) {
      if (!action.hits?.length && frequent.length === 0 && state.due.size === 0) return allow;
      return decideFired(settings, findFired(table, state, action, atMs), action, atMs);
    },
    apply(state, event) {
      if (event.type === 'action-settled') recordDueHits(state, event);
      if (event.type === 'action-decided') recordDecision(table, state, event);
      return state;
    },
    due: (state, action) => judgeDueHits(table, state, action),
    countingRules: (action) => findCountingRules(frequent, action),
    judgeOverCount: (item, action, atMs, freeMs) => {
      return decideFired(settings, [makeOverCount(item, freeMs)], action, atMs);
    },
  };
}

/** Finds the rules that fire on an action: its own hits, due output rules, and frequency rules over their count. */
function findFired(table: RuleTable, state: RulesState, action: Action, atMs: number): Fired[] {
  const { byId, frequent, settings } = table;
  const spacingMs = settings.minIntervalSecs * 1_000;
  const fired: Fired[] = [];
  const add = (hit: RuleHit, sinceMs: number | undefined) => {
    const rule = byId.get(hit.rule);
    if (rule === undefined) return; // In a replay the rule may belong to another policy.
    const reason = rule.reason ?? hit.seen;
    if (rule.action !== 'throttle' || rule.condition.kind === 'frequency') {
      fired.push({ rule, reason });
    } else if (sinceMs !== undefined && atMs < sinceMs + spacingMs) {
      fired.push({ rule, reason, freeAtMs: sinceMs + spacingMs });
    }
  };
  for (const hit of action.hits ?? []) add(hit, state.spaced.items[hit.rule]);
  for (const hit of state.due.items[dueKey(action)] ?? []) add(hit, hit.atMs);
  for (const item of findCountingRules(frequent, action)) {
    const free = freeAtMs(state.times.items[item.key], item.condition);
    if (atMs < free) fired.push(makeOverCount(item, free));
  }
  return fired;
}

function findCountingRules(frequent: readonly FrequencyRule[], action: Action): readonly CountedRule[] {
  if (action.isCounted) return [];
  return frequent.flatMap(({ rule, condition }) => {
    const key = countKey(rule, action);
    return key === undefined ? [] : [{ rule, condition, key }];
  });
}

function makeOverCount({ rule, condition }: CountedRule, freeMs: number): Fired {
  return { rule, reason: rule.reason ?? checkCount(condition, condition.count + 1).seen, freeAtMs: freeMs };
}

/** The verdict of the rules that fired: an abort wins over a throttle and a confirmation. */
function decideFired(settings: RuleSettings, fired: readonly Fired[], action: Action, atMs: number): Verdict {
  if (fired.length === 0) return allow;
  const aborts = filterByAction(fired, 'abort');
  if (aborts.length > 0) return makeStop('halt', 'rule_abort', aborts);
  const confirms = filterByAction(fired, 'confirm').filter(({ rule }) => !isApproved(action, rule));
  const throttles = filterByAction(fired, 'throttle');
  const ask = confirms.length > 0 ? makeStop('ask', 'rule_declined', confirms) : allow;
  return throttles.length > 0 ? stricter(ask, makeThrottleStop(settings, throttles, atMs)) : ask;
}

/** Whether a person approved the action for this rule. */
export function isApproved({ approvedBy, approvedFor }: Action, rule: Rule): boolean {
  return approvedBy !== undefined && (approvedFor === undefined || approvedFor.rules.includes(rule.id));
}

function makeThrottleStop(settings: RuleSettings, fired: readonly Fired[], atMs: number): Stop {
  const free = Math.max(...fired.map((item) => item.freeAtMs ?? Number.POSITIVE_INFINITY));
  const wait = settings.throttle === 'delay' && free - atMs <= settings.maxDelaySecs * 1_000;
  const stop = makeStop(wait ? 'wait' : 'deny', 'rule_throttled', fired);
  return Number.isFinite(free) ? { ...stop, retryAtMs: free } : stop;
}

/** The halt by output rules that fired on a result of the action's task, or allow. */
function judgeDueHits({ byId }: RuleTable, state: RulesState, action: Action): Verdict {
  const aborts = (state.due.items[dueKey(action)] ?? []).flatMap((hit) => {
    const rule = byId.get(hit.rule);
    return rule?.action === 'abort' ? [{ rule, reason: rule.reason ?? hit.seen }] : [];
  });
  return aborts.length > 0 ? makeStop('halt', 'rule_abort', aborts) : allow;
}

/** Keeps the output rules that fired on a result for the next action of its task. */
function recordDueHits(state: RulesState, { resultHits, permit, atMs }: ActionSettled): void {
  if (resultHits === undefined || resultHits.length === 0) return;
  const key = dueKey(permit.action);
  const fresh = resultHits.map((hit) => ({ ...hit, atMs }));
  const older = (state.due.items[key] ?? []).filter((old) => !fresh.some((hit) => hit.rule === old.rule));
  putItem(state.due, key, [...older, ...fresh]);
}

/** Drops due output rules that have acted, and records the time of an allowed action for throttles and frequencies. */
function recordDecision({ byId, frequent }: RuleTable, state: RulesState, event: ActionDecided): void {
  const { action, atMs, verdict } = event;
  // A due rule is dropped once an action passed or the rules halted it; the task itself stores the halt.
  const isOver = verdict.kind === 'allow' || (verdict.kind === 'halt' && verdict.control === name);
  if (isOver && state.due.size > 0) dropItem(state.due, dueKey(action));
  if (verdict.kind !== 'allow') return;
  for (const hit of action.hits ?? []) {
    const rule = byId.get(hit.rule);
    if (rule?.action === 'throttle' && rule.condition.kind !== 'frequency') putItem(state.spaced, rule.id, atMs);
  }
  for (const { condition, key } of findCountingRules(frequent, action)) {
    if (condition.count === 0) continue;
    const history = state.times.items[key] ?? putItem(state.times, key, createHistory());
    recordTime(history, atMs, condition.count); // Keep only as many times as the condition needs.
  }
}

/** The key of a frequency rule's history for an action; undefined if the rule does not count the action. */
function countKey(rule: Rule, action: Action): string | undefined {
  if (isChainRun(action)) {
    const chain = action.name.slice(runPrefix.length);
    return isFor(rule.target, { chain, agent: action.agent }) ? `${rule.id}@${chain}` : undefined;
  }
  // Chains count runs, not steps, and a model call is not a tool call: both count only if a rule names them.
  const byName = action.kind === 'step' || action.kind === 'model';
  if (byName && !rule.target.startsWith('tool:')) return undefined;
  return isFor(rule.target, { tool: action.name, agent: action.agent }) ? rule.id : undefined;
}

/** The key of due output rules: the task, or the agent outside any task. */
function dueKey({ task, session, agent }: Action): string {
  return task === undefined ? `agent:${agent}@${session}` : `task:${task}`;
}

function filterByAction(fired: readonly Fired[], action: RuleAction): readonly Fired[] {
  return fired.filter((item) => item.rule.action === action);
}

function makeStop(kind: Stop['kind'], code: Stop['code'], fired: readonly Fired[]): Stop {
  const reason = fired.map((item) => (kind === 'ask' ? askReason(item) : item.reason)).join('; ');
  return {
    kind,
    code,
    control: name,
    counters: makeCounters(fired[0]?.rule),
    reason,
    rules: fired.map((item) => item.rule.id),
  };
}

/** The reason of a rule in a question; that of a model's rule is marked, so that nobody takes it for the operator's. */
function askReason({ rule, reason }: Fired): string {
  return rule.origin === 'model' ? `the model's own rule says: ${reason}` : reason;
}

function makeCounters(rule: Rule | undefined): Counters {
  if (rule === undefined) return {};
  const { condition, id } = rule;
  if (condition.kind === 'threshold') return { rule: id, limit: condition.value };
  if (condition.kind !== 'frequency') return { rule: id };
  return { rule: id, actual: condition.count + 1, limit: condition.count, window: condition.text };
}
