/** What the answer to a deal says about cells, sums and marks, noted where this process looks. */

import type { Transaction, TransactionResult, WindowCount } from '../../ports/store.ts';
import { keepReusable, type Views } from '../cells/cell-views.ts';
import type { Plan } from '../cells/transaction-plan.ts';
import type { KnownState } from './known-state.ts';

/** Why nobody knows what became of a deal, or why nothing did. */
export const unanswered = 'the store did not answer';
export const forgotten = 'the store forgot, and is told again';

/** A deal was carried out: versions of its cells, totals of its sums, what its windows hold now. */
export function applyCommitted(
  transaction: Transaction,
  plan: Plan,
  rest: readonly string[],
  memory: KnownState,
  views: Views,
): TransactionResult {
  let at = 0;
  for (const cell of plan.cells) {
    memory.setCell(cell.view.cell.key, Number(rest[at++]), cell.text);
    keepReusable(views, cell);
  }
  const totals = (transaction.adds ?? []).map(({ key }) => {
    const total = Number(rest[at++]);
    memory.totals.set(key, total);
    return total;
  });
  memory.ownMarks.record(transaction.marks);
  const windowCounts = (transaction.marks ?? []).map(({ key }): WindowCount => {
    const window = { count: Number(rest[at++]), oldestMs: Number(rest[at++]) };
    memory.marks.set(key, window);
    return window;
  });
  return { status: 'committed', totals, windowCounts };
}

/** Somebody was faster: learns what the cells are now. False where the store knows less than it was told. */
export function applyConflict(
  cells: Plan['cells'],
  expected: readonly number[],
  rest: readonly string[],
  stored: number,
  memory: KnownState,
): boolean {
  let isWhole = true;
  cells.forEach(({ view }, at) => {
    const [version, text] = [Number(rest[2 * at]), rest[2 * at + 1]];
    if (version >= expected[at]!) memory.setCell(view.cell.key, version, text === '' ? undefined : text);
    else if (view.options.keepMs !== undefined && stored >= expected[at]!)
      memory.setCell(view.cell.key, expected[at]! + 0.5, undefined); // It had its time.
    else isWhole = false;
  });
  return isWhole;
}
