/** The joint budget: limits what several tasks, or the calls of one key or model, use, in total or in a window. */

import type { Action, Cost, Permit } from '../../action.ts';
import type { Control } from '../../control.ts';
import type { ControlEvent, EntryBody, ReservationChanged } from '../../event.ts';
import { budgetSlices } from '../../limits.ts';
import { formatCents, formatTimeSpan } from '../../quote.ts';
import type { JointBudget } from '../../settings.ts';
import { allow, type Stop, type Verdict } from '../../verdict.ts';
import { microsPerCent } from './budget.ts';
import { findNoticeShare } from './notice-share.ts';

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
  /** The slice, the limit and the share of the last notice; without a share it was the first one. */
  noticed?: readonly [slice: number, limit: number, share?: number];
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
  if (unit === 'calls' || unit === 'model_calls') return (kind === 'model') === (unit === 'model_calls') ? 1 : 0;
  return unit === 'tokens' ? worstTokens : worstMicros;
}

/**
 * The charges of an event. A reservation that changes in a later slice of the window moves there as a whole, so that
 * settlement finds all of it in one slice.
 */
export function computeCharges(budget: JointBudget, event: ControlEvent): readonly BudgetCharge[] {
  if (event.type === 'reservation-changed') return moveReservation(budget, event);
  const charge = computeCharge(budget, event);
  return charge === undefined || charge.amount === 0 ? [] : [charge];
}

function moveReservation(budget: JointBudget, { permit, atMs, micros, tokens }: ReservationChanged): BudgetCharge[] {
  const change = costInUnit(budget.unit, { micros, tokens });
  const sinceMs = reservedSince(permit);
  if (change === 0) return [];
  if (sliceAt(budget, sinceMs) === sliceAt(budget, atMs)) return [{ amount: change, atMs }];
  const reserved = computeNeed(budget, permit.action);
  return [
    { amount: reserved + change, atMs },
    { amount: -reserved, atMs: sinceMs },
  ];
}

/** When the amounts of a permit were booked. */
function reservedSince({ atMs, reservedAtMs = atMs }: Permit): number {
  return reservedAtMs;
}

/** The charge of an event: the upper bound at admission, the difference to the actual cost at settlement. */
function computeCharge(budget: JointBudget, event: ControlEvent): BudgetCharge | undefined {
  const { unit } = budget;
  const { atMs } = event;
  switch (event.type) {
    case 'action-decided':
      return event.verdict.kind === 'allow' ? { amount: computeNeed(budget, event.action), atMs } : undefined;
    case 'action-settled': {
      const { permit, outcome, cost } = event;
      const isReturned = !isCount(unit) || (outcome.kind === 'neutral' && outcome.why === 'given-back');
      const reserved = isReturned && event.stillRuns !== true ? computeNeed(budget, permit.action) : 0;
      const amount = costInUnit(unit, cost) - reserved;
      return { amount, atMs: amount > 0 ? atMs : reservedSince(permit) };
    }
    case 'work-ended': {
      const { permit, cost } = event;
      if (isCount(unit)) return undefined;
      // One charge: between a refund and a second charge, another process could take the amount.
      const amount = costInUnit(unit, cost) - computeNeed(budget, permit.action);
      return { amount, atMs: amount > 0 ? atMs : reservedSince(permit) };
    }
    case 'usage-observed': {
      // Seen from outside, usage is the sign of a model call.
      const calls = unit === 'model_calls' && event.cost.tokens > 0 ? 1 : 0;
      return { amount: calls + costInUnit(unit, event.cost), atMs };
    }
    case 'call-observed':
      return unit === 'calls' ? { amount: 1, atMs } : undefined;
    default:
      return undefined; // Texts and signs of life cost nothing.
  }
}

function costInUnit(unit: JointBudget['unit'], cost: Cost | undefined): number {
  return cost === undefined || isCount(unit) ? 0 : unit === 'tokens' ? cost.tokens : cost.micros;
}

/** Whether a unit counts calls. */
function isCount(unit: JointBudget['unit']): boolean {
  return unit === 'calls' || unit === 'model_calls';
}

const codes = {
  calls: 'tool_call_limit',
  model_calls: 'model_call_limit',
  tokens: 'token_limit',
  spend_cents: 'token_spend_limit',
} as const;

const unitNames = { calls: 'tool calls', model_calls: 'model calls', tokens: 'tokens', spend_cents: 'spend' } as const;
const scopeNames = {
  session: 'the session',
  agent: 'the agent',
  project: 'the project',
  global: 'all agents',
  key: 'the key',
  model: 'the model',
} as const;

/** A budget of one owner whose name a refusal tells, e.g. that of a key. */
export interface OwnedBudget extends JointBudget {
  readonly of?: string;
}

/**
 * The stop for a use of `actual`: a session budget ends the root task, other budgets the acting task; `deny` one call.
 * The budget of a key or model refuses calls and ends no task, since the task has another one or gets more later.
 */
export function stopOverBudget(budget: OwnedBudget, actual: number, kind: 'halt' | 'deny' = 'halt'): Stop {
  if ('tool' in budget) {
    const counters = { scope: 'session', actual, limit: budget.limit };
    return { kind: 'deny', code: 'tool_limit', control: 'budget', counters };
  }
  const { scope, unit, limit, windowSecs, of } = budget;
  const shown = unit === 'spend_cents' ? Math.ceil(actual / microsPerCent) : actual;
  const counters = { scope, actual: shown, limit, ...(windowSecs !== undefined && { window_secs: windowSecs }) };
  const [shownActual, shownLimit] = unit === 'spend_cents' ? [formatCents(shown), formatCents(limit)] : [shown, limit];
  const window = windowSecs === undefined ? '' : ` in any ${formatTimeSpan(windowSecs * 1000)}`;
  const owner = of === undefined ? scopeNames[scope] : `${scopeNames[scope]} ${of}`;
  const reason = `${unitNames[unit]} of ${owner}${window}: ${shownActual} of ${shownLimit}`;
  const stop = {
    kind: endsNoTask(budget) ? 'deny' : kind,
    code: codes[unit],
    control: 'budget',
    counters,
    reason,
  } as const;
  return kind === 'halt' && scope === 'session' ? { ...stop, ends: 'root' } : stop;
}

/**
 * Returns the notice for a used share, once per window and limit, and records that it was given. Money, tokens and
 * model calls have a second notice at 95 %.
 */
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
  const reached = findNoticeShare({ actual, limit: limitInUnits(budget) }, share, unit !== 'calls');
  if (reached === undefined) return undefined;
  const [noticedSlice, noticedLimit, noticedShare = share] = window.noticed ?? [0, 0];
  const isTold = noticedLimit === limit && slice - noticedSlice <= budgetSlices;
  if (isTold && reached <= noticedShare) return undefined;
  window.noticed = reached === share ? [slice, limit] : [slice, limit, reached];
  const { counters, reason = '' } = stopOverBudget(budget, actual);
  return {
    type: 'notice',
    gauge: { name: `${scope}_${unit}`, actual: Number(counters.actual), limit },
    message: reason,
  };
}

/** Whether a budget refuses calls, and ends no task. */
function endsNoTask({ scope }: JointBudget): boolean {
  return scope === 'key' || scope === 'model';
}

/**
 * Whether a stop is that of a budget of a key or a model: it says nothing about the task whose call it refuses, and the
 * same call may pass later.
 */
export function isOutsideTask({ control, kind, counters: { scope } }: Stop): boolean {
  return control === 'budget' && kind === 'deny' && (scope === 'key' || scope === 'model');
}

/** Outside any task there is no task to halt, so the call is denied. */
export function stopKindFor(action: Action | undefined): 'halt' | 'deny' {
  return action !== undefined && action.task === undefined ? 'deny' : 'halt';
}

/** The control for a budget that only this process uses. */
export function jointBudget(budget: JointBudget): Control<BudgetWindow> {
  const limit = limitInUnits(budget);
  const check = (actual: number, action?: Action): Verdict =>
    actual > limit && budget.mode !== 'observe' ? stopOverBudget(budget, actual, stopKindFor(action)) : allow;
  return {
    name: 'budget',
    scope: budget.scope === 'session' ? 'session' : 'gear',
    initial: emptyWindow,
    judge: (window, { action, atMs }) => check(usedAt(window, budget, atMs) + computeNeed(budget, action), action),
    judgeGrowth: (window, { action, micros, tokens, atMs }) =>
      check(usedAt(window, budget, atMs) + costInUnit(budget.unit, { micros, tokens }), action),
    apply(window, event) {
      for (const charge of computeCharges(budget, event)) bookCharge(window, budget, charge);
      return window;
    },
    check: (window, atMs) => check(usedAt(window, budget, atMs)),
  };
}
