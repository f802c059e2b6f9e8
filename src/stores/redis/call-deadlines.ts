/** Deadlines of pending calls with one timer for all, because nearly every call ends long before its deadline. */

import { machineClock, startTimer } from '../../platform/machine-clock.ts';

/** The deadline of one call. */
export interface CallDeadline {
  readonly atMs: number;
  onLate(): void;
}

/** The deadlines of all pending calls. */
export interface CallDeadlines {
  /** Starts a deadline, which keeps the process alive; `onLate` is called unless the deadline ends in time. */
  begin(ms: number, onLate: () => void): CallDeadline;
  end(deadline: CallDeadline): void;
}

/** Creates an empty set of deadlines. */
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
      // The timer stays armed, because the next call usually starts before it fires.
      if (open.delete(deadline) && open.size === 0) timer?.unref();
    },
  };
}
