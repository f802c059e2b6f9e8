/**
 * The budget control: limits the tool calls of a task and of the work it delegates, and the tokens and money of the
 * task and its descendants.
 */

import type { Action, Cost } from '../../action.ts';
import type { CellOwner, Control, Gauge } from '../../control.ts';
import { unlimited } from '../../declare/setting.ts';
import type { LimitRaised } from '../../event.ts';
import { raisesMax } from '../../limits.ts';
import type { TaskSettings } from '../../settings.ts';
import { allow, askToRaise, type Counters, haltOverLimit, type Stop, type Verdict } from '../../verdict.ts';

/** The counts of one task. */
export interface BudgetState {
  calls: number;
  tokens: number;
  micros: number;
  /** Reserved for running calls, at their upper bounds. */
  reservedTokens: number;
  reservedMicros: number;
  /** The part of the money at a guessed price, and for estimated tokens. */
  guessedMicros?: number;
  estimatedMicros?: number;
  /** The calls of all delegated work below the task; only a root counts them. Absent before the first. */
  treeCalls?: number;
  /** Model calls; absent before the first. */
  modelCalls?: number;
  /** Counted model calls whose usage has not been reported yet. */
  usagesDue?: number;
  /** Calls of the tools that have a limit of their own. */
  toolCalls?: Readonly<Record<string, number>>;
  /** The limits that a person raised, by their settings, and those of single tools. */
  raised?: { readonly [setting in keyof Limits]?: number };
  raisedTools?: Readonly<Record<string, number>>;
  /** How often a limit was raised; absent before the first time. */
  raises?: number;
}

/** The limits of a task that this control holds; one that is off is infinite. */
interface Limits {
  readonly maxToolCalls: number;
  readonly maxTreeCalls: number;
  readonly maxModelCalls: number;
  readonly maxSpendCents: number;
  readonly maxTokens: number;
}

/** Whether a person may still be asked to raise a limit of the task. */
export function mayRaise({ raises = 0 }: BudgetState, { atLimit }: Pick<TaskSettings, 'atLimit'>): boolean {
  return atLimit === 'ask' && raises < raisesMax;
}

/** The calls that all delegated work below a root may make. */
export function maxTreeCallsOf({ maxToolCalls, maxTreeCalls }: TaskSettings): number {
  return maxTreeCalls ?? (maxToolCalls === unlimited ? defaultTreeCalls : maxToolCalls * 10);
}

/** The limit of delegated work where tool calls have none. */
const defaultTreeCalls = 500;

/** One cent in the internal money unit, millionths of a dollar. */
export const microsPerCent = 10_000;

/** Creates the budget control. */
export function budget(settings: TaskSettings): Control<BudgetState> {
  return { ...createBudget(settings, 'none'), ofDelegatedWork: createBudget(settings, 'tree') };
}

/** Creates the control; with `tree`, the calls of descendants count as delegated work of the root. */
function createBudget(settings: TaskSettings, below: 'none' | 'tree'): Control<BudgetState> {
  const { maxToolCalls, maxSpendCents } = settings;
  const { maxTokens = Number.POSITIVE_INFINITY, maxModelCalls = Number.POSITIVE_INFINITY } = settings;
  const written: Limits = {
    maxToolCalls,
    maxTreeCalls: maxTreeCallsOf(settings),
    maxModelCalls,
    maxSpendCents,
    maxTokens,
  };

  function stopAt(state: BudgetState, setting: keyof Limits, halt: Stop): Stop {
    return mayRaise(state, settings) ? askToRaise(halt, setting, Number(halt.counters.limit)) : halt;
  }

  function overrun(state: BudgetState, calls: number, treeCalls: number, micros: number, tokens: number): Verdict {
    const limits = limitsIn(state, written);
    if (calls > limits.maxToolCalls)
      return stopAt(state, 'maxToolCalls', haltOverLimit('budget', 'tool_call_limit', calls, limits.maxToolCalls));
    if (treeCalls > limits.maxTreeCalls)
      return stopAt(state, 'maxTreeCalls', haltOverLimit('budget', 'tree_call_limit', treeCalls, limits.maxTreeCalls));
    if (micros > limits.maxSpendCents * microsPerCent) {
      const cents = Math.ceil(micros / microsPerCent);
      const halt = haltOverLimit('budget', 'token_spend_limit', cents, limits.maxSpendCents);
      const counters = { ...halt.counters, ...uncertainSpend(state) };
      return stopAt(state, 'maxSpendCents', { ...halt, counters });
    }
    if (tokens <= limits.maxTokens) return allow;
    return stopAt(state, 'maxTokens', haltOverLimit('budget', 'token_limit', tokens, limits.maxTokens));
  }

  function overModelCalls(state: BudgetState, modelCalls: number): Verdict {
    const limit = limitsIn(state, written).maxModelCalls;
    if (modelCalls <= limit) return allow;
    return stopAt(state, 'maxModelCalls', haltOverLimit('budget', 'model_call_limit', modelCalls, limit));
  }

  function check(state: BudgetState): Verdict {
    const due = overModelCalls(state, state.modelCalls ?? 0);
    return due === allow ? overrun(state, state.calls, state.treeCalls ?? 0, state.micros, state.tokens) : due;
  }

  return {
    name: 'budget',
    scope: 'chain',
    initial: () => ({ calls: 0, tokens: 0, micros: 0, reservedTokens: 0, reservedMicros: 0 }),

    judge(state, { action }, cellOwner) {
      if (settings.atLimit === 'ask') {
        const due = check(state); // Past a limit, no call passes before the answer.
        if (due !== allow) return due;
      }
      if (cellOwner === 'self' && action.kind === 'model') {
        const due = overModelCalls(state, (state.modelCalls ?? 0) + 1);
        if (due !== allow) return due;
      }
      return overrun(
        state,
        cellOwner === 'self' && action.kind !== 'model' ? state.calls + 1 : 0,
        cellOwner === 'ancestor' && below === 'tree' && action.kind !== 'model' ? (state.treeCalls ?? 0) + 1 : 0,
        state.micros + state.reservedMicros + action.worstMicros,
        state.tokens + state.reservedTokens + action.worstTokens,
      );
    },

    judgeGrowth: (state, { micros, tokens }) =>
      overrun(state, 0, 0, state.micros + state.reservedMicros + micros, state.tokens + state.reservedTokens + tokens),

    apply(state, event, cellOwner) {
      switch (event.type) {
        case 'action-decided':
          // A refused call counts as proposed. A waiting or asking call comes back.
          if (event.verdict.kind === 'wait' || event.verdict.kind === 'ask') return state;
          if (event.action.kind !== 'model') countCall(state, cellOwner, below);
          else if (cellOwner === 'self') countModelCall(state);
          if (event.verdict.kind !== 'allow') return state;
          if (isOwnModelCall(event.action, cellOwner)) state.usagesDue = (state.usagesDue ?? 0) + 1;
          state.reservedMicros += event.action.worstMicros;
          state.reservedTokens += event.action.worstTokens;
          return state;
        case 'action-settled':
        case 'work-ended': {
          const stillRuns = event.type === 'action-settled' && event.stillRuns === true;
          if (!stillRuns) release(state, event.permit.action); // Work that still runs may still cost.
          if (event.cost !== undefined) spend(state, event.cost);
          if (event.cost !== undefined && isOwnModelCall(event.permit.action, cellOwner)) takeUsageDue(state);
          return state;
        }
        case 'reservation-changed':
          state.reservedMicros = Math.max(0, state.reservedMicros + event.micros);
          state.reservedTokens = Math.max(0, state.reservedTokens + event.tokens);
          return state;
        case 'usage-observed':
          spend(state, event.cost);
          // Seen from outside, usage is the sign of a model call, unless a call that was counted still owes it.
          if (cellOwner === 'self' && event.cost.tokens > 0 && !takeUsageDue(state)) countModelCall(state);
          return state;
        case 'call-observed':
          countCall(state, cellOwner, below);
          return state;
        case 'limit-raised':
          raiseLimit(state, event, cellOwner, written);
          return state;
        default:
          return state; // Texts and signs of life cost nothing.
      }
    },

    check,

    gauges(state): readonly Gauge[] {
      const { calls, micros, tokens, treeCalls, modelCalls = 0 } = state;
      const limits = limitsIn(state, written);
      const gauges = [
        { name: 'tool_calls', actual: calls, limit: limits.maxToolCalls },
        ...(treeCalls === undefined ? [] : [{ name: 'tree_calls', actual: treeCalls, limit: limits.maxTreeCalls }]),
        { name: 'model_calls', actual: modelCalls, limit: limits.maxModelCalls },
        { name: 'spend_cents', actual: micros / microsPerCent, limit: limits.maxSpendCents },
        { name: 'tokens', actual: tokens, limit: limits.maxTokens },
      ];
      return gauges.filter(({ limit }) => limit < unlimited);
    },
  };
}

/** Continues from the counts of a retried task; reservations of its running calls are released to it alone. */
export function continueBudget(state: BudgetState, before: BudgetState): void {
  const { usagesDue: _, ...counts } = before;
  Object.assign(state, counts, { reservedTokens: 0, reservedMicros: 0 });
  state.raises = (before.raises ?? 0) + 1;
}

function isOwnModelCall({ kind }: Action, cellOwner: CellOwner): boolean {
  return kind === 'model' && cellOwner === 'self';
}

/** Takes the usage of a counted model call, if one is due. */
function takeUsageDue(state: BudgetState): boolean {
  const { usagesDue = 0 } = state;
  if (usagesDue === 0) return false;
  state.usagesDue = usagesDue - 1;
  return true;
}

/** The limits in force: those of the settings, or higher ones to which a person raised them. */
function limitsIn({ raised }: BudgetState, written: Limits): Limits {
  if (raised === undefined) return written;
  const limits: Record<keyof Limits, number> = { ...written };
  for (const [setting, limit] of Object.entries(raised) as [keyof Limits, number][])
    limits[setting] = Math.max(limits[setting], limit);
  return limits;
}

/**
 * Raises a limit, once for each answer. An ancestor with the same limit of money or tokens has spent as much, so its
 * limit is reached as well and the answer is for both.
 */
function raiseLimit(state: BudgetState, event: LimitRaised, cellOwner: CellOwner, written: Limits): void {
  const { setting, before, limit, tool } = event;
  if (tool !== undefined) {
    if (cellOwner !== 'self') return;
    state.raisedTools = { ...state.raisedTools, [tool]: limit };
  } else {
    const isShared = setting === 'maxSpendCents' || setting === 'maxTokens';
    if (limitsIn(state, written)[setting as keyof Limits] !== before || (cellOwner !== 'self' && !isShared)) return;
    state.raised = { ...state.raised, [setting]: limit };
  }
  state.raises = (state.raises ?? 0) + 1;
}

function countModelCall(state: BudgetState): void {
  state.modelCalls = (state.modelCalls ?? 0) + 1;
}

function countCall(state: BudgetState, cellOwner: CellOwner, below: 'none' | 'tree'): void {
  if (cellOwner === 'self') state.calls++;
  else if (below === 'tree') state.treeCalls = (state.treeCalls ?? 0) + 1;
}

function release(state: BudgetState, { worstMicros, worstTokens }: Action): void {
  state.reservedMicros = Math.max(0, state.reservedMicros - worstMicros);
  state.reservedTokens = Math.max(0, state.reservedTokens - worstTokens);
}

function spend(state: BudgetState, cost: Cost): void {
  state.micros += cost.micros;
  state.tokens += cost.tokens;
  if (cost.guessed) state.guessedMicros = (state.guessedMicros ?? 0) + cost.micros;
  if (cost.estimated) state.estimatedMicros = (state.estimatedMicros ?? 0) + cost.micros;
}

/** How much of the money is guessed or estimated, in cents, for the counters of a halt. */
function uncertainSpend({ guessedMicros = 0, estimatedMicros = 0 }: BudgetState): Counters {
  return {
    ...(guessedMicros > 0 && { guessed: Math.ceil(guessedMicros / microsPerCent) }),
    ...(estimatedMicros > 0 && { estimated: Math.ceil(estimatedMicros / microsPerCent) }),
  };
}
