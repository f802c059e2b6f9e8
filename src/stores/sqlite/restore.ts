/** A file that began anew is told what this process knows: cells it knows less of, sums that were higher, and marks. */

import type { WindowMark } from '../../ports/store.ts';
import { readText, stateOf, type Views } from '../cells/cell-views.ts';
import type { Session } from './connection.ts';

/** To be called in an open transaction. */
export function tellFile(
  session: Session,
  views: Views,
  totals: ReadonlyMap<string, number>,
  marks: readonly WindowMark[],
): void {
  const { runner, made } = session;
  for (const [key, value] of made) if (runner.meta(key) === undefined) runner.setMeta(key, value);
  for (const view of views.all.values()) {
    if (view.text === undefined) continue;
    const stored = runner.known(view.cell.key);
    if (stored !== undefined && stored.version >= view.cell.version) continue;
    const mine = stateOf(view, view.text);
    const theirs = stored?.text === undefined ? undefined : readText(stored.text);
    const { join } = view.options;
    const joined = theirs === undefined || join === undefined ? mine : join(mine, theirs);
    runner.offer(view, view.cell.version, JSON.stringify(joined));
  }
  for (const [key, total] of totals) runner.raise(key, total);
  runner.run({ marks });
  session.saveTime();
}
