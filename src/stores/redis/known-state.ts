/** What a process remembers of the store: cells heard of, totals seen, how far it was. A store may forget it all. */

import { knownCellsMax } from '../../core/limits.ts';
import type { WindowCount } from '../../ports/store.ts';
import type { KnownCell, Views } from '../cells/cell-views.ts';
import { createOwnMarks, type OwnMarks } from '../cells/own-marks.ts';
import type { HealthMonitor } from '../cells/store-health.ts';

export interface KnownState {
  readonly cells: ReadonlyMap<string, KnownCell>;
  readonly totals: Map<string, number>;
  readonly marks: Map<string, WindowCount>;
  /** What this process itself marked. */
  readonly ownMarks: OwnMarks;
  /** How far the store was when last heard of. */
  born: string;
  version: number;
  seq: number;
  secret: string;
  /** The key of the list in which deals of the line that this process has now are noted. */
  line: string;
  /** Learns what a cell is now, and shows it to whoever looks at it. */
  setCell(key: string, version: number, text: string | undefined): void;
}

export function createKnownState(views: Views, monitor: HealthMonitor): KnownState {
  const cells = new Map<string, KnownCell>();
  const totals = new Map<string, number>();
  const marks = new Map<string, WindowCount>();
  return {
    cells,
    totals,
    marks,
    ownMarks: createOwnMarks(),
    born: '',
    version: 0,
    seq: 0,
    secret: '',
    line: '',
    setCell(key, version, text) {
      const cell = cells.get(key);
      if (cell !== undefined && cell.version >= version) return;
      cells.set(key, { version, text });
      if (cells.size > knownCellsMax) cells.delete(cells.keys().next().value!);
      for (const map of [totals, marks]) if (map.size > knownCellsMax) map.delete(map.keys().next().value!);
      const view = views.all.get(key);
      if (view !== undefined && views.setStored(view, version, text)) monitor.hint({ type: 'cell-changed', key });
    },
  };
}
