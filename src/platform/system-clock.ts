/** The clock of one process: monotonic, and cheap enough to read on every call. */

import { timerMaxMs } from '../core/limits.ts';
import type { Clock } from '../ports/clock.ts';

/** The global `performance`, cached because its getter costs as much as the clock itself. */
let performanceClock: typeof performance | undefined;

/** The clock of this process. */
export const systemClock: Clock = {
  nowMs() {
    performanceClock ??= performance;
    return performanceClock.now();
  },
  wallMs: () => Date.now(),
  after: runLater,
  hold: holdProcess,
};

/** Keeps the process alive until the returned function is called. */
export function holdProcess(): () => void {
  const timer = setInterval(() => {}, timerMaxMs);
  return () => clearInterval(timer);
}

function runLater(delayMs: number, run: () => void, keepAlive = false): () => void {
  const timer = setTimeout(run, Math.min(Math.max(delayMs, 0), timerMaxMs));
  if (!keepAlive) timer.unref();
  return () => clearTimeout(timer);
}

/** Runs a function in the next turn of the event loop. */
export function nextTurn(run: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(run);
  else setTimeout(run, 0);
}

/** Waits for some milliseconds, or until the signal aborts. */
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

/** Waits for a promise, for some milliseconds at most. Nothing is left that keeps the process alive. */
export async function waitFor(clock: Clock, promise: Promise<unknown> | undefined, mostMs: number): Promise<void> {
  const limit = new AbortController();
  try {
    await Promise.race([promise, wait(clock, mostMs, limit.signal)]);
  } finally {
    limit.abort();
  }
}

const tickMs = 10;
const callsPerRead = 64;

/**
 * Returns a clock that reads the time every 10 ms or 64 calls instead of on every call, because one read costs more
 * than a whole unguarded call. Its timer runs only while the clock is in use, and does not keep the process alive.
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
      // Times within one millisecond are equal, so that values cached for a time can be reused.
      if (readMs - nowMs >= 1) nowMs = readMs;
      if (!ticking) {
        ticking = true;
        clock.after(tickMs, stale);
      }
      return nowMs;
    },
    wallMs: clock.wallMs,
    after: clock.after,
    ...(clock.hold && { hold: clock.hold }),
  };
}
