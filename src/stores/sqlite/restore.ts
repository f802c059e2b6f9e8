/** Writes the known state of this process into a new file: newer cells, higher counters and marks. */

import type { WindowMark } from '../../ports/store.ts';
import { type KnownCell, parseCellText, parseState, type View, type Views } from '../cells/cell-views.ts';
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
    const stored = runner.readCell(view.cell.key);
    const joined = joinKnown(view, stored);
    if (joined === stored?.text) {
      // The file knows as much. A view that keeps an older state would be the base of the next change.
      views.resetStored(view, stored?.version ?? 0, joined);
    } else if (joined !== undefined)
      runner.restoreCell(view, Math.max(view.cell.version, stored?.version ?? 0), joined);
  }
  for (const [key, total] of totals) runner.raiseCounter(key, total);
  runner.execute({ marks });
  connection.saveTime();
}

/** The text of a cell from what this process knows and what the file has. */
function joinKnown(view: View, stored: KnownCell | undefined): string | undefined {
  if (view.text === undefined) return stored?.text;
  const { join } = view.options;
  const isOlder = stored !== undefined && stored.version >= view.cell.version;
  // Versions of two files cannot be compared, so both states are joined where that is possible.
  if (isOlder && (join === undefined || stored.text === undefined)) return stored.text;
  const local = parseState(view, view.text);
  const storedState = stored?.text === undefined ? undefined : parseCellText(stored.text);
  return JSON.stringify(storedState === undefined || join === undefined ? local : join(local, storedState));
}
