/** The rules as a control: what fired on an action, how often its target ran, what an earlier result has in store. */

import type { Action, RuleHit } from '../../action.ts';
import type { Control } from '../../control.ts';
import type { RuleSettings } from '../../settings.ts';
import { allow, type Counters, type Stop, stricter, type Verdict } from '../../verdict.ts';
import { type Bag, drop, newBag, put } from './bounded-record.ts';
import type { Frequency } from './condition.ts';
import { lookAtCount } from './evaluate.ts';
import { freeAtMs, type History, newHistory, remember } from './history.ts';
import type { Rule, RuleAction } from './rule.ts';
import { isFor } from './target.ts';

/** Plain JSON, one for a gear. */
export interface RulesState {
  /** When what a frequency rule counts was admitted, by rule, and by chain where it counts runs. */
  readonly times: Bag<History>;
  /** When something was last admitted under a throttle that is not about frequency, by rule. */
  readonly spaced: Bag<number>;
  /** Output rules that fired on a result and wait for the next action of its task. */
  readonly due: Bag<readonly Due[]>;
}

export interface Due extends RuleHit {
  readonly atMs: number;
}

/** Beside judging actions, it tells at once that a result ended its task. */
export interface RulesControl extends Control<RulesState> {
  /** The halt that a result of this action's task has brought, or allow. */
  due(state: RulesState, action: Action): Verdict;
  /** The histories in which an action counts. */
  counted(action: Action): readonly Counted[];
  /** What a rule says to an action that is one too many, for whoever counts elsewhere, too. */
  tooMany(counted: Counted, action: Action, atMs: number, freeAtMs: number): Verdict;
}

/** A frequency rule that counts an action, and the history it counts it in. */
export interface Counted {
  readonly rule: Rule;
  readonly condition: Frequency;
  readonly key: string;
}

interface Fired {
  readonly rule: Rule;
  readonly reason: string;
  /** When a throttle lets go; absent where nobody knows, Infinity = never. */
  readonly freeAtMs?: number;
}

const name = 'rules';
const runPrefix = 'chain:';

/** The name of the action, of kind `step`, that stands for a whole run of a chain: what frequency counts in chains. */
export function chainRun(chain: string): string {
  return `${runPrefix}${chain}`;
}

/** Whether an action stands for a whole run of a chain. */
export function isChainRun({ kind, name: run }: Action): boolean {
  return kind === 'step' && run.startsWith(runPrefix);
}

/** The control of these rules. Another set of rules may go on with the same state. */
export function rulesControl(rules: readonly Rule[], settings: RuleSettings): RulesControl {
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  const frequent = rules.flatMap((rule) => {
    return rule.condition.kind === 'frequency' ? [{ rule, condition: rule.condition }] : [];
  });
  const spacingMs = settings.minIntervalSecs * 1_000;

  function firedBy(state: RulesState, action: Action, atMs: number): Fired[] {
    const fired: Fired[] = [];
    const add = (hit: RuleHit, sinceMs: number | undefined) => {
      const rule = byId.get(hit.rule);
      if (rule === undefined) return; // Of another policy, in a replay.
      const reason = rule.reason ?? hit.seen;
      if (rule.action !== 'throttle' || rule.condition.kind === 'frequency') {
        fired.push({ rule, reason });
      } else if (sinceMs !== undefined && atMs < sinceMs + spacingMs) {
        fired.push({ rule, reason, freeAtMs: sinceMs + spacingMs });
      }
    };
    for (const hit of action.hits ?? []) add(hit, state.spaced.items[hit.rule]);
    for (const hit of state.due.items[placeOf(action)] ?? []) add(hit, hit.atMs);
    for (const one of counted(action)) {
      const free = freeAtMs(state.times.items[one.key], one.condition);
      if (atMs < free) fired.push(overrun(one, free));
    }
    return fired;
  }

  function counted(action: Action): readonly Counted[] {
    return frequent.flatMap(({ rule, condition }) => {
      const key = countKey(rule, action);
      return key === undefined ? [] : [{ rule, condition, key }];
    });
  }

  function overrun({ rule, condition }: Counted, free: number): Fired {
    return { rule, reason: rule.reason ?? lookAtCount(condition, condition.count + 1).seen, freeAtMs: free };
  }

  function verdictOn(fired: readonly Fired[], action: Action, atMs: number): Verdict {
    if (fired.length === 0) return allow;
    const aborts = having(fired, 'abort');
    if (aborts.length > 0) return stopOf('halt', 'rule_abort', aborts);
    const confirms = action.approvedBy === undefined ? having(fired, 'confirm') : [];
    const throttles = having(fired, 'throttle');
    const ask = confirms.length > 0 ? stopOf('ask', 'rule_declined', confirms) : allow;
    return throttles.length > 0 ? stricter(ask, throttled(throttles, atMs)) : ask;
  }

  function throttled(fired: readonly Fired[], atMs: number): Stop {
    const free = Math.max(...fired.map((one) => one.freeAtMs ?? Number.POSITIVE_INFINITY));
    const wait = settings.throttle === 'delay' && free - atMs <= settings.maxDelaySecs * 1_000;
    const stop = stopOf(wait ? 'wait' : 'deny', 'rule_throttled', fired);
    return Number.isFinite(free) ? { ...stop, retryAtMs: free } : stop;
  }

  return {
    name,
    scope: 'gear',
    initial: () => ({ times: newBag(), spaced: newBag(), due: newBag() }),

    judge(state, { action, atMs }) {
      if (!action.hits?.length && frequent.length === 0 && state.due.size === 0) return allow;
      return verdictOn(firedBy(state, action, atMs), action, atMs);
    },

    counted,
    tooMany: (one, action, atMs, free) => verdictOn([overrun(one, free)], action, atMs),

    due(state, action) {
      const aborts = (state.due.items[placeOf(action)] ?? []).flatMap((hit) => {
        const rule = byId.get(hit.rule);
        return rule?.action === 'abort' ? [{ rule, reason: rule.reason ?? hit.seen }] : [];
      });
      return aborts.length > 0 ? stopOf('halt', 'rule_abort', aborts) : allow;
    },

    apply(state, event) {
      if (event.type === 'action-settled' && event.resultHits !== undefined && event.resultHits.length > 0) {
        const place = placeOf(event.permit.action);
        const fresh = event.resultHits.map((hit) => ({ ...hit, atMs: event.atMs }));
        const known = (state.due.items[place] ?? []).filter((old) => !fresh.some((hit) => hit.rule === old.rule));
        put(state.due, place, [...known, ...fresh]);
      }
      if (event.type !== 'action-decided') return state;
      const { action, atMs, verdict } = event;
      // A consequence is over once an action got past it or was halted by it; the halt itself is the task's to keep.
      const isOver = verdict.kind === 'allow' || (verdict.kind === 'halt' && verdict.control === name);
      if (isOver && state.due.size > 0) drop(state.due, placeOf(action));
      if (verdict.kind !== 'allow') return state;
      for (const hit of action.hits ?? []) {
        const rule = byId.get(hit.rule);
        if (rule?.action === 'throttle' && rule.condition.kind !== 'frequency') put(state.spaced, rule.id, atMs);
      }
      for (const { condition, key } of counted(action)) {
        if (condition.count === 0) continue;
        const history = state.times.items[key] ?? put(state.times, key, newHistory());
        remember(history, atMs, condition.count); // As many as decide whether one more is too many.
      }
      return state;
    },
  };
}

/** Which history a frequency rule keeps for an action; undefined where it does not count it. */
function countKey(rule: Rule, action: Action): string | undefined {
  if (isChainRun(action)) {
    const chain = action.name.slice(runPrefix.length);
    return isFor(rule.target, { chain, agent: action.agent }) ? `${rule.id}@${chain}` : undefined;
  }
  // Chains count their runs, not their steps, and a thought is not a call: both count only where a rule names them.
  const byName = action.kind === 'step' || action.kind === 'model';
  if (byName && !rule.target.startsWith('tool:')) return undefined;
  return isFor(rule.target, { tool: action.name, agent: action.agent }) ? rule.id : undefined;
}

/** Where consequences wait: with the task, or with the agent where there is no task. */
function placeOf({ task, session, agent }: Action): string {
  return task === undefined ? `agent:${agent}@${session}` : `task:${task}`;
}

function having(fired: readonly Fired[], action: RuleAction): readonly Fired[] {
  return fired.filter((one) => one.rule.action === action);
}

function stopOf(kind: Stop['kind'], code: Stop['code'], fired: readonly Fired[]): Stop {
  const reason = fired.map((one) => one.reason).join('; ');
  return {
    kind,
    code,
    control: name,
    counters: countersOf(fired[0]?.rule),
    reason,
    rules: fired.map((one) => one.rule.id),
  };
}

function countersOf(rule: Rule | undefined): Counters {
  if (rule === undefined) return {};
  const { condition, id } = rule;
  if (condition.kind === 'threshold') return { rule: id, limit: condition.value };
  if (condition.kind !== 'frequency') return { rule: id };
  return { rule: id, actual: condition.count + 1, limit: condition.count, window: condition.text };
}
