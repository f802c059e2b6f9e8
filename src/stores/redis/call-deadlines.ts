/** Deadlines of calls that are out: one timer for all of them, since nearly every call ends long before its own. */

import { machineClock, startTimer } from '../../platform/machine-clock.ts';

export interface Deadline {
  readonly atMs: number;
  late(): void;
}

export interface Deadlines {
  /** From now on somebody waits, and the process lives; `late` is called unless it ends in time. */
  begin(ms: number, late: () => void): Deadline;
  end(one: Deadline): void;
}

export function createDeadlines(): Deadlines {
  const open = new Set<Deadline>();
  let timer: NodeJS.Timeout | undefined;
  let dueMs = Number.POSITIVE_INFINITY;

  function arm(atMs: number): void {
    clearTimeout(timer);
    dueMs = atMs;
    timer = startTimer(atMs - machineClock.nowMs(), look);
  }

  function look(): void {
    timer = undefined;
    dueMs = Number.POSITIVE_INFINITY;
    const nowMs = machineClock.nowMs();
    for (const one of [...open]) {
      if (one.atMs > nowMs) continue;
      open.delete(one);
      one.late();
    }
    const next = Math.min(...[...open].map(({ atMs }) => atMs));
    if (open.size > 0) arm(next);
  }

  return {
    begin(ms, late) {
      const one = { atMs: machineClock.nowMs() + ms, late };
      open.add(one);
      if (one.atMs < dueMs) arm(one.atMs);
      else if (open.size === 1) timer?.ref();
      return one;
    },
    end(one) {
      // The timer stays as it is: the next call mostly comes before it, and needs none of its own.
      if (open.delete(one) && open.size === 0) timer?.unref();
    },
  };
}
