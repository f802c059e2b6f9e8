/** Applies the replies of scripts to the known state of cells, counters and windows. */

import type { Transaction, TransactionResult, WindowCount } from '../../ports/store.ts';
import { keepReusable, type Views } from '../cells/cell-views.ts';
import type { Plan } from '../cells/transaction-plan.ts';
import type { KnownState } from './known-state.ts';

/** The reason if the connection was lost before a reply; the transaction may have been executed. */
export const unanswered = 'the store did not answer';
/** The reason if the store lost data and nothing was executed. */
export const forgotten = 'the store lost data and is being restored';

/** Applies the reply to a committed transaction: cell versions, counter totals and window counts. */
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

/** Applies the current cells after a lost race; returns false if the store has an older version than expected. */
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
      memory.setCell(view.cell.key, expected[at]! + 0.5, undefined); // The cell expired.
    else isWhole = false;
  });
  return isWhole;
}
