/** The last known state of the store in one process, for its views and to restore a store that lost data. */

import { knownCellsMax } from '../../core/limits.ts';
import type { WindowCount } from '../../ports/store.ts';
import type { KnownCell, Views } from '../cells/cell-views.ts';
import { createOwnMarks, type OwnMarks } from '../cells/own-marks.ts';
import type { HealthMonitor } from '../cells/store-health.ts';

/** The known cells, counters and windows, and the identity and versions of the store. */
export interface KnownState {
  readonly cells: ReadonlyMap<string, KnownCell>;
  readonly totals: Map<string, number>;
  readonly marks: Map<string, WindowCount>;
  /** The marks that this process made. */
  readonly ownMarks: OwnMarks;
  /** The identity of the store; a store that lost data gets a new one. */
  born: string;
  /** The highest known cell version. */
  version: number;
  /** The highest known sequence number of an entry. */
  seq: number;
  secret: string;
  /** The key of the list with the numbers of the transactions of the current connection. */
  line: string;
  /** Sets the known state of a cell and updates its view. */
  setCell(key: string, version: number, text: string | undefined): void;
}

/** Creates an empty known state. */
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
