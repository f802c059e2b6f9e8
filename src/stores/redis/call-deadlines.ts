/** The deadlines of pending calls; the process stays alive while a call is pending. */

import { machineClock, startTimer } from '../../platform/machine-clock.ts';
import { createTimerQueue, type TimedLink } from '../../platform/timer-queue.ts';

/** The deadlines of all pending calls. */
export interface CallDeadlines {
  /** Starts a deadline, which keeps the process alive; `onLate` is called unless the deadline ends in time. */
  begin(ms: number, onLate: () => void): TimedLink;
  end(deadline: TimedLink): void;
}

/** Creates an empty set of deadlines. */
export function createCallDeadlines(): CallDeadlines {
  let pending = 0;
  let timer: NodeJS.Timeout | undefined;
  const queue = createTimerQueue({
    nowMs: () => machineClock.nowMs(),
    after(delayMs, run) {
      const started = startTimer(delayMs, run);
      timer = started;
      return () => clearTimeout(started);
    },
  });
  return {
    begin(ms, onLate) {
      const deadline: TimedLink = {
        dueMs: machineClock.nowMs() + ms,
        fire() {
          pending--;
          onLate();
        },
      };
      queue.add(ms, deadline);
      if (++pending === 1) timer?.ref();
      return deadline;
    },
    end(deadline) {
      // The timer stays armed, because the next call usually starts before it fires.
      if (queue.remove(deadline) && --pending === 0) timer?.unref();
    },
  };
}
