/** The marks that this process made: a store that forgot is told them again, so that no window begins anew. */

import { ownMarksMax } from '../../core/limits.ts';
import type { WindowMark } from '../../ports/store.ts';

export interface OwnMarks {
  record(marks: readonly WindowMark[] | undefined): void;
  /** Those that still count, as they are made again: whatever the window holds by now. */
  active(): readonly WindowMark[];
}

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
