/** Remembers the marks of this process, to restore them in a store that lost data. */

import { ownMarksMax } from '../../core/limits.ts';
import type { WindowMark } from '../../ports/store.ts';

/** The marks that this process made. */
export interface OwnMarks {
  /** Remembers marks; of more than 10,000 the oldest are dropped. */
  record(marks: readonly WindowMark[] | undefined): void;
  /** Returns the marks that are still in their windows, without a limit on the window. */
  active(): readonly WindowMark[];
}

/** Creates an empty record of marks. */
export function createOwnMarks(): OwnMarks {
  const recorded = new Map<string, WindowMark>();
  let newestMs = Number.NEGATIVE_INFINITY;
  return {
    record(marks = []) {
      for (const { key, id, atMs, keepMs, cap } of marks) {
        recorded.set(`${key}\n${id}`, { key, id, atMs, keepMs, cap });
        newestMs = Math.max(newestMs, atMs);
        if (recorded.size > ownMarksMax) recorded.delete(recorded.keys().next().value!);
      }
    },
    active() {
      for (const [name, { atMs, keepMs }] of recorded) if (atMs + keepMs <= newestMs) recorded.delete(name);
      return [...recorded.values()];
    },
  };
}
