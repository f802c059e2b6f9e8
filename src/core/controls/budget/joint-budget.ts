/** The joint budget: limits what a session, an agent, a project or a store may use, in total or in a rolling window. */

import type { Action, Cost } from '../../action.ts';
import type { Control } from '../../control.ts';
import type { ControlEvent, EntryBody } from '../../event.ts';
import { budgetSlices } from '../../limits.ts';
import { formatCents } from '../../quote.ts';
import type { JointBudget } from '../../settings.ts';
import { allow, type Stop, type Verdict } from '../../verdict.ts';
import { microsPerCent } from './budget.ts';

/**
 * Booked amounts in slices of the window, the newest first; without a window there is one slice.
 * The oldest slice counts in full until it has expired: a window never holds more than the limit, and a spent amount
 * is available again at most one slice late.
 */
export interface BudgetWindow {
  /** The number of the newest slice. */
  at: number;
  sums: number[];
  /** In a shared store: the limit of the process that last fetched an allowance. For display only. */
  limit?: number;
  /** The slice and the limit of the last notice. */
  noticed?: readonly [slice: number, limit: number];
}

/** An amount to book, negative to refund, at the time it counts for. */
export interface BudgetCharge {
  readonly amount: number;
  readonly atMs: number;
}

/** Creates the initial state of a budget. */
export function emptyWindow(): BudgetWindow {
  return { at: 0, sums: [0] };
}

/** The index of the slice that contains a time. */
export function sliceAt({ windowSecs }: JointBudget, atMs: number): number {
  return windowSecs === undefined ? 0 : Math.floor((atMs * budgetSlices) / (windowSecs * 1000));
}

/** The limit in the booked unit: calls, tokens, or millionths of a dollar. */
export function limitInUnits({ unit, limit }: JointBudget): number {
  return unit === 'spend_cents' ? limit * microsPerCent : limit;
}

/** The booked amount in the window that ends at a time. */
export function usedAt({ at, sums }: BudgetWindow, budget: JointBudget, atMs: number): number {
  const oldest = sliceAt(budget, atMs) - budgetSlices;
  let used = 0;
  for (let age = 0; age < sums.length && at - age >= oldest; age++) used += sums[age]!;
  return used;
}

/** Books a charge. A refund to an expired slice changes nothing. */
export function bookCharge(window: BudgetWindow, budget: JointBudget, { amount, atMs }: BudgetCharge): void {
  const now = sliceAt(budget, atMs);
  if (now > window.at) {
    const older = Array.from({ length: Math.min(now - window.at, budgetSlices + 1) }, () => 0);
    window.sums = [...older, ...window.sums].slice(0, budgetSlices + 1);
    window.at = now;
  }
  const age = window.at - now;
  if (age < window.sums.length) window.sums[age] = Math.max(0, window.sums[age]! + amount);
}

/** The upper bound of an action's use. */
export function computeNeed({ unit }: JointBudget, { kind, worstTokens, worstMicros }: Action): number {
  if (unit === 'calls') return kind === 'model' ? 0 : 1;
  return unit === 'tokens' ? worstTokens : worstMicros;
}

/** The charge of an event: the upper bound at admission, the difference to the actual cost at settlement. */
export function computeCharge(budget: JointBudget, event: ControlEvent): BudgetCharge | undefined {
  const { unit } = budget;
  const { atMs } = event;
  switch (event.type) {
    case 'action-decided':
      return event.verdict.kind === 'allow' ? { amount: computeNeed(budget, event.action), atMs } : undefined;
    case 'action-settled': {
      const { permit, outcome, cost } = event;
      const isReturned = unit !== 'calls' || (outcome.kind === 'neutral' && outcome.why === 'given-back');
      const reserved = isReturned && event.stillRuns !== true ? computeNeed(budget, permit.action) : 0;
      const amount = costInUnit(unit, cost) - reserved;
      return { amount, atMs: amount > 0 ? atMs : permit.atMs };
    }
    case 'work-ended': {
      const { permit, cost } = event;
      if (unit === 'calls') return undefined;
      // One charge: between a refund and a second charge, another process could take the amount.
      const amount = costInUnit(unit, cost) - computeNeed(budget, permit.action);
      return { amount, atMs: amount > 0 ? atMs : permit.atMs };
    }
    case 'usage-observed':
      return { amount: costInUnit(unit, event.cost), atMs };
    case 'call-observed':
      return unit === 'calls' ? { amount: 1, atMs } : undefined;
    default:
      return undefined; // Texts and signs of life cost nothing.
  }
}

function costInUnit(unit: JointBudget['unit'], cost: Cost | undefined): number {
  return cost === undefined || unit === 'calls' ? 0 : unit === 'tokens' ? cost.tokens : cost.micros;
}

const codes = { calls: 'tool_call_limit', tokens: 'token_limit', spend_cents: 'token_spend_limit' } as const;

const unitNames = { calls: 'tool calls', tokens: 'tokens', spend_cents: 'spend' } as const;
const scopeNames = {
  session: 'the session',
  agent: 'the agent',
  project: 'the project',
  global: 'all agents',
} as const;

/**
 * The stop for a use of `actual`: a session budget ends the root task, other budgets the acting task; `deny` one call.
 */
export function stopOverBudget(budget: JointBudget, actual: number, kind: 'halt' | 'deny' = 'halt'): Stop {
  if ('tool' in budget) {
    const counters = { scope: 'session', actual, limit: budget.limit };
    return { kind: 'deny', code: 'tool_limit', control: 'budget', counters };
  }
  const { scope, unit, limit, windowSecs } = budget;
  const shown = unit === 'spend_cents' ? Math.ceil(actual / microsPerCent) : actual;
  const counters = { scope, actual: shown, limit, ...(windowSecs !== undefined && { window_secs: windowSecs }) };
  const [shownActual, shownLimit] = unit === 'spend_cents' ? [formatCents(shown), formatCents(limit)] : [shown, limit];
  const window = windowSecs === undefined ? '' : ` in any ${windowSecs} s`;
  const reason = `${unitNames[unit]} of ${scopeNames[scope]}${window}: ${shownActual} of ${shownLimit}`;
  const stop = { kind, code: codes[unit], control: 'budget', counters, reason } as const;
  return kind === 'halt' && scope === 'session' ? { ...stop, ends: 'root' } : stop;
}

/** Returns the notice for a used share, once per window and limit, and records that it was given. */
export function takeNotice(
  window: BudgetWindow,
  budget: JointBudget,
  share: number,
  atMs: number,
): Extract<EntryBody, { readonly type: 'notice' }> | undefined {
  if ('tool' in budget) return undefined; // The refusal is the notice.
  const { scope, unit, limit } = budget;
  const actual = usedAt(window, budget, atMs);
  const slice = sliceAt(budget, atMs);
  const [noticedSlice, noticedLimit] = window.noticed ?? [0, 0];
  if (actual < share * limitInUnits(budget) || (noticedLimit === limit && slice - noticedSlice <= budgetSlices))
    return undefined;
  window.noticed = [slice, limit];
  const { counters, reason = '' } = stopOverBudget(budget, actual);
  return {
    type: 'notice',
    gauge: { name: `${scope}_${unit}`, actual: Number(counters.actual), limit },
    message: reason,
  };
}

/** Outside any task there is no task to halt, so the call is denied. */
export function stopKindFor(action: Action | undefined): 'halt' | 'deny' {
  return action !== undefined && action.task === undefined ? 'deny' : 'halt';
}

/** The control for a budget that only this process uses. */
export function jointBudget(budget: JointBudget): Control<BudgetWindow> {
  const limit = limitInUnits(budget);
  const check = (actual: number, action?: Action): Verdict =>
    actual > limit ? stopOverBudget(budget, actual, stopKindFor(action)) : allow;
  return {
    name: 'budget',
    scope: budget.scope === 'session' ? 'session' : 'gear',
    initial: emptyWindow,
    judge: (window, { action, atMs }) => check(usedAt(window, budget, atMs) + computeNeed(budget, action), action),
    apply(window, event) {
      const charge = computeCharge(budget, event);
      if (charge !== undefined && charge.amount !== 0) bookCharge(window, budget, charge);
      return window;
    },
    check: (window, atMs) => check(usedAt(window, budget, atMs)),
  };
}
