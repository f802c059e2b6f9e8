/** The marks that this process made: a store that forgot is told them again, so that no window begins anew. */

import { madeMarksMax } from '../../core/limits.ts';
import type { WindowMark } from '../../ports/store.ts';

export interface MadeMarks {
  record(marks: readonly WindowMark[] | undefined): void;
  /** Those that still count, as they are made again: whatever the window holds by now. */
  standing(): readonly WindowMark[];
}

export function createMadeMarks(): MadeMarks {
  const made = new Map<string, WindowMark>();
  let newestMs = Number.NEGATIVE_INFINITY;
  return {
    record(marks = []) {
      for (const { key, id, atMs, keepMs, cap } of marks) {
        made.set(`${key}\n${id}`, { key, id, atMs, keepMs, cap });
        newestMs = Math.max(newestMs, atMs);
        if (made.size > madeMarksMax) made.delete(made.keys().next().value!);
      }
    },
    standing() {
      for (const [name, { atMs, keepMs }] of made) if (atMs + keepMs <= newestMs) made.delete(name);
      return [...made.values()];
    },
  };
}
