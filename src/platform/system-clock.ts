/** The process's own time: monotonic, and cheap enough to ask on every call. */

import { timerMaxMs } from '../core/limits.ts';
import type { Clock } from '../ports/clock.ts';

/** Held once it was asked for: the global is a getter, which costs as much as the clock behind it. */
let performanceClock: typeof performance | undefined;

export const systemClock: Clock = {
  nowMs() {
    performanceClock ??= performance;
    return performanceClock.now();
  },
  wallMs: () => Date.now(),
  after: runLater,
};

function runLater(delayMs: number, run: () => void, keepAlive = false): () => void {
  const timer = setTimeout(run, Math.min(Math.max(delayMs, 0), timerMaxMs));
  if (!keepAlive) timer.unref();
  return () => clearTimeout(timer);
}

/** Waits for a while, or until the signal aborts. */
export function wait(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(delayMs, done, true);
    signal?.addEventListener('abort', done, { once: true });
    if (signal?.aborted) done();
  });
}

const tickMs = 10;
const callsPerRead = 64;

/**
 * A clock that is looked at once per tick instead of once per call: one look costs more than a whole bare call.
 * Its only timer runs while it is in use and keeps nothing alive; in a loop that never yields it looks every so often.
 */
export function coarseClock(clock: Clock): Clock {
  let nowMs = 0;
  let left = 0;
  let ticking = false;
  const stale = () => {
    left = 0;
    ticking = false;
  };
  return {
    nowMs() {
      if (left-- > 0) return nowMs;
      left = callsPerRead;
      const readMs = clock.nowMs();
      // Within one millisecond it is the same time: what was made for it can be used again.
      if (readMs - nowMs >= 1) nowMs = readMs;
      if (!ticking) {
        ticking = true;
        clock.after(tickMs, stale);
      }
      return nowMs;
    },
    wallMs: clock.wallMs,
    after: clock.after,
  };
}
