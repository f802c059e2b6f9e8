/** Reads the budgets of a store that span several tasks: owner, amount used and limit. */

import { microsPerCent } from '../core/controls/budget/budget.ts';
import { type BudgetWindow, usedAt } from '../core/controls/budget/joint-budget.ts';
import { formatTimeSpan } from '../core/quote.ts';
import type { JointBudget } from '../core/settings.ts';
import type { CrossProcessStore, StoredCell } from '../ports/store.ts';
import { decodeKeyPart } from './breakers.ts';
import { formatCount } from './format.ts';

/** The most budgets that one call reads. */
const budgetsMax = 10_000;

/** A budget of a store with its usage now. */
export interface StoredBudget {
  readonly key: string;
  readonly scope: JointBudget['scope'];
  /** The session, agent, key or model; absent for a project or global budget. */
  readonly of?: string;
  readonly project?: string;
  readonly unit: JointBudget['unit'];
  readonly windowSecs?: number;
  /** The amount that processes spent or reserved, in the unit. */
  readonly used: number;
  /** The limit of the process that spent last; absent if no process has written it. */
  readonly limit?: number;
}

/** Reads all budgets with a usage above 0. */
export async function readStoredBudgets(store: CrossProcessStore): Promise<readonly StoredBudget[]> {
  const atMs = store.clock.nowMs();
  const cells = await store.shared.read('budget/', budgetsMax);
  return cells.flatMap((cell) => parseBudget(cell, atMs)).filter(({ used }) => used > 0);
}

const scopes: readonly string[] = [
  'session',
  'agent',
  'project',
  'global',
  'key',
  'model',
] satisfies JointBudget['scope'][];
const units: readonly string[] = ['calls', 'model_calls', 'tokens', 'spend_cents'] satisfies JointBudget['unit'][];

function parseBudget({ key, state }: StoredCell, atMs: number): readonly StoredBudget[] {
  const [, scope = '', unit = '', window = '', ...ownerParts] = key.split('/').map(decodeKeyPart);
  const budgetWindow = state as BudgetWindow;
  // Skips cells of other kinds.
  if (!scopes.includes(scope) || !units.includes(unit) || !Array.isArray(budgetWindow?.sums)) return [];
  const { limit } = budgetWindow;
  const of = scope === 'project' || scope === 'global' ? undefined : ownerParts.at(-1);
  const project = scope === 'agent' || scope === 'project' ? ownerParts[0] : undefined;
  const budget = {
    scope: scope as JointBudget['scope'],
    unit: unit as JointBudget['unit'],
    ...(window !== 'ever' && { windowSecs: Number(window) }),
  };
  const used = usedAt(budgetWindow, { ...budget, limit: limit ?? 0 }, atMs);
  return [
    {
      key,
      ...budget,
      ...(of !== undefined && { of }),
      ...(project !== undefined && { project }),
      used: unit === 'spend_cents' ? Math.ceil(used / microsPerCent) : used,
      ...(limit !== undefined && { limit }),
    },
  ];
}

/** Formats the usage with its limit, and the time window: `['3 of 10 calls', 'in any 5 min']`. */
export function formatBudget({ unit, used, limit, windowSecs }: StoredBudget): readonly [string, string] {
  const formatAmount = (amount: number) => (unit === 'spend_cents' ? `$${(amount / 100).toFixed(2)}` : `${amount}`);
  const limitText = limit === undefined ? '' : ` of ${formatAmount(limit)}`;
  const usedText =
    unit === 'calls' && limit === undefined
      ? formatCount(used, 'call')
      : `${formatAmount(used)}${limitText}${unitNames[unit]}`;
  return [usedText, windowSecs === undefined ? '' : `in any ${formatTimeSpan(windowSecs * 1000)}`];
}

const unitNames = { calls: ' calls', model_calls: ' model calls', tokens: ' tokens', spend_cents: '' } as const;
