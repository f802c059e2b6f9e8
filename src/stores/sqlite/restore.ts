/** Writes the known state of this process into a new file: newer cells, higher counters and marks. */

import type { WindowMark } from '../../ports/store.ts';
import { parseCellText, parseState, type Views } from '../cells/cell-views.ts';
import type { SqliteConnection } from './connection.ts';

/** Writes known cells, counters and marks; needs an open transaction. */
export function restoreFile(
  connection: SqliteConnection,
  views: Views,
  totals: ReadonlyMap<string, number>,
  marks: readonly WindowMark[],
): void {
  const { runner, onceValues } = connection;
  for (const [key, value] of onceValues) if (runner.readMeta(key) === undefined) runner.setMeta(key, value);
  for (const view of views.all.values()) {
    if (view.text === undefined) continue;
    const stored = runner.readCell(view.cell.key);
    const { join } = view.options;
    const isOlder = stored !== undefined && stored.version >= view.cell.version;
    // Versions of two files cannot be compared, so both states are joined where that is possible.
    if (isOlder && (join === undefined || stored.text === undefined)) continue;
    const local = parseState(view, view.text);
    const storedState = stored?.text === undefined ? undefined : parseCellText(stored.text);
    const joined = JSON.stringify(storedState === undefined || join === undefined ? local : join(local, storedState));
    if (joined !== stored?.text) runner.restoreCell(view, Math.max(view.cell.version, stored?.version ?? 0), joined);
  }
  for (const [key, total] of totals) runner.raiseCounter(key, total);
  runner.execute({ marks });
  connection.saveTime();
}
