/** Deadlines of calls that are out: one timer for all of them, since nearly every call ends long before its own. */

import { machineClock, startTimer } from '../../platform/machine-clock.ts';

export interface CallDeadline {
  readonly atMs: number;
  onLate(): void;
}

export interface CallDeadlines {
  /** From now on somebody waits, and the process lives; `late` is called unless it ends in time. */
  begin(ms: number, onLate: () => void): CallDeadline;
  end(deadline: CallDeadline): void;
}

export function createCallDeadlines(): CallDeadlines {
  const open = new Set<CallDeadline>();
  let timer: NodeJS.Timeout | undefined;
  let dueMs = Number.POSITIVE_INFINITY;

  function arm(atMs: number): void {
    clearTimeout(timer);
    dueMs = atMs;
    timer = startTimer(atMs - machineClock.nowMs(), checkDeadlines);
  }

  function checkDeadlines(): void {
    timer = undefined;
    dueMs = Number.POSITIVE_INFINITY;
    const nowMs = machineClock.nowMs();
    for (const deadline of [...open]) {
      if (deadline.atMs > nowMs) continue;
      open.delete(deadline);
      deadline.onLate();
    }
    const next = Math.min(...[...open].map(({ atMs }) => atMs));
    if (open.size > 0) arm(next);
  }

  return {
    begin(ms, onLate) {
      const deadline = { atMs: machineClock.nowMs() + ms, onLate };
      open.add(deadline);
      if (deadline.atMs < dueMs) arm(deadline.atMs);
      else if (open.size === 1) timer?.ref();
      return deadline;
    },
    end(deadline) {
      // The timer stays as it is: the next call mostly comes before it, and needs none of its own.
      if (open.delete(deadline) && open.size === 0) timer?.unref();
    },
  };
}
