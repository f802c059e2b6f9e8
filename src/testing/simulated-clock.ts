/** A clock for tests: time stands still until the test advances it. */

import { SwitchgearError } from '../core/error.ts';
import { simulatedTimersMax } from '../core/limits.ts';
import type { Clock } from '../ports/clock.ts';

/** A clock that a test advances. */
export interface SimulatedClock extends Clock {
  /** Advances the clock and runs due timers in order, each at its own time. */
  advance(byMs: number): void;
  /** Advances the clock like `advance`, and settles promises after each timer. */
  elapse(byMs: number): Promise<void>;
  /** Moves the wall clock alone, forwards or backwards. */
  wallJump(byMs: number): void;
  /** The number of waiting timers. */
  readonly pending: number;
}

/** The wall time at which every simulation starts: midnight of 1 January 2026, UTC. */
export const simulatedWallMs = 1_767_225_600_000;

/**
 * Creates a clock that only the test advances.
 *
 * @default startMs 0
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { simulatedClock } from 'switchgear/testing';
 *
 * const clock = simulatedClock();
 * const gear = createSwitchgear({ clock });
 * const task = gear.startTask({ limits: { maxDurationSecs: 60 } });
 * clock.advance(61_000);
 * console.log(task.halt?.code); // duration_limit
 */
export function simulatedClock(startMs = 0): SimulatedClock {
  const timers = new Map<number, { readonly dueMs: number; readonly run: () => void }>();
  let nowMs = requireFinite(startMs, 'startMs');
  let wallOffsetMs = simulatedWallMs - nowMs;
  let lastTimer = 0;

  /** Returns the id of the next timer up to a time; of two timers due at once, the one that was set first. */
  function findNextTimer(untilMs: number): number | undefined {
    let next: number | undefined;
    let dueMs = untilMs;
    for (const [id, timer] of timers) {
      if (timer.dueMs < dueMs || (next === undefined && timer.dueMs === dueMs)) {
        next = id;
        dueMs = timer.dueMs;
      }
    }
    return next;
  }

  /** Runs the next timer up to a time; returns false if there is none. */
  function runNextTimer(untilMs: number, timersRun: number): boolean {
    const id = findNextTimer(untilMs);
    const timer = id === undefined ? undefined : timers.get(id);
    if (id === undefined || timer === undefined) {
      nowMs = untilMs;
      return false;
    }
    if (timersRun >= simulatedTimersMax) {
      throw new SwitchgearError(
        'clock_stuck',
        `more than ${simulatedTimersMax} timers ran on the way to ${untilMs} ms`,
      );
    }
    timers.delete(id);
    nowMs = timer.dueMs;
    timer.run();
    return true;
  }

  return {
    nowMs: () => nowMs,
    wallMs: () => nowMs + wallOffsetMs,
    after(delayMs, run) {
      const id = ++lastTimer;
      timers.set(id, { dueMs: nowMs + Math.max(0, requireFinite(delayMs, 'after')), run });
      return () => void timers.delete(id);
    },
    advance(byMs) {
      const untilMs = nowMs + requireForward(byMs);
      for (let timersRun = 0; runNextTimer(untilMs, timersRun); timersRun++);
    },
    async elapse(byMs) {
      const untilMs = nowMs + requireForward(byMs);
      await promisesSettled();
      for (let timersRun = 0; runNextTimer(untilMs, timersRun); timersRun++) await promisesSettled();
      await promisesSettled();
    },
    wallJump(byMs) {
      wallOffsetMs += requireFinite(byMs, 'wallJump');
    },
    get pending() {
      return timers.size;
    },
  };
}

/** Resolves after all promises that do not wait for a timer have settled. */
export function promisesSettled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

function requireForward(byMs: number): number {
  if (requireFinite(byMs, 'advance') < 0) {
    throw new SwitchgearError('clock_backwards', `advance takes 0 ms or more, got ${byMs}`);
  }
  return byMs;
}

function requireFinite(ms: number, name: string): number {
  if (Number.isFinite(ms)) return ms;
  throw new SwitchgearError('clock_invalid', `${name} must be a finite number of milliseconds, got ${String(ms)}`);
}
