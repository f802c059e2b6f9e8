/** A file that began anew is told what this process knows: cells that it knows less of, and sums that were higher. */

import type { Session } from './sqlite-session.ts';
import type { Views } from './views.ts';

/** To be called in an open transaction. */
export function tellFile(session: Session, views: Views, totals: ReadonlyMap<string, number>): void {
  const { deals } = session;
  for (const view of views.all.values()) {
    if (view.text === undefined) continue;
    const stored = deals.known(view.cell.key);
    if (stored !== undefined && stored.version >= view.cell.version) continue;
    const mine: unknown = JSON.parse(view.text);
    const theirs = stored?.text === undefined ? undefined : (JSON.parse(stored.text) as unknown);
    const { join } = view.options;
    const joined = theirs === undefined || join === undefined ? mine : join(mine, theirs);
    deals.offer(view, view.cell.version, JSON.stringify(joined));
  }
  for (const [key, total] of totals) deals.raise(key, total);
  session.saveTime();
}
