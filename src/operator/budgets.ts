/** Budgets beyond one task as they lie in a store: whose they are, what is booked of them now, and of how much. */

import { microsPerCent } from '../core/controls/budget/budget.ts';
import { type BudgetWindow, usedAt } from '../core/controls/budget/joint-budget.ts';
import type { JointBudget } from '../core/settings.ts';
import type { CrossProcessStore, StoredCell } from '../ports/store.ts';
import { decodeKeyPart } from './breakers.ts';
import { formatCount, formatTimeSpan } from './format.ts';

/** Budgets that one command looks at. */
const budgetsMax = 10_000;

export interface StoredBudget {
  readonly key: string;
  readonly scope: JointBudget['scope'];
  /** The session or the agent; absent where it is everybody's. */
  readonly of?: string;
  readonly project?: string;
  readonly unit: JointBudget['unit'];
  readonly windowSecs?: number;
  /** What processes have spent or hold in hand, in the unit. */
  readonly used: number;
  /** As whoever spent last had it; absent where nobody has yet. */
  readonly limit?: number;
}

/** Those of which something is booked. */
export async function readStoredBudgets(store: CrossProcessStore): Promise<readonly StoredBudget[]> {
  const atMs = store.clock.nowMs();
  const cells = await store.shared.read('budget/', budgetsMax);
  return cells.flatMap((cell) => parseBudget(cell, atMs)).filter(({ used }) => used > 0);
}

const scopes: readonly string[] = ['session', 'agent', 'project', 'global'] satisfies JointBudget['scope'][];
const units: readonly string[] = ['calls', 'tokens', 'spend_cents'] satisfies JointBudget['unit'][];

function parseBudget({ key, state }: StoredCell, atMs: number): readonly StoredBudget[] {
  const [, scope = '', unit = '', window = '', ...ownerParts] = key.split('/').map(decodeKeyPart);
  const budgetWindow = state as BudgetWindow;
  // Skips cells of other kinds.
  if (!scopes.includes(scope) || !units.includes(unit) || !Array.isArray(budgetWindow?.sums)) return [];
  const { limit } = budgetWindow;
  const of = scope === 'session' || scope === 'agent' ? ownerParts.at(-1) : undefined;
  const project = scope === 'session' ? undefined : ownerParts[0];
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

/** What is used, of how much and in which time, as a person reads it. */
export function formatBudget({ unit, used, limit, windowSecs }: StoredBudget): readonly [string, string] {
  const formatAmount = (amount: number) => (unit === 'spend_cents' ? `$${(amount / 100).toFixed(2)}` : `${amount}`);
  const limitText = limit === undefined ? '' : ` of ${formatAmount(limit)}`;
  const usedText =
    unit === 'calls' && limit === undefined
      ? formatCount(used, 'call')
      : `${formatAmount(used)}${limitText}${unitNames[unit]}`;
  return [usedText, windowSecs === undefined ? '' : `in any ${formatTimeSpan(windowSecs * 1000)}`];
}

const unitNames = { calls: ' calls', tokens: ' tokens', spend_cents: '' } as const;
