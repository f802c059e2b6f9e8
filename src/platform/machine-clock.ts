/** The clock that all processes of a machine share, and the store time that continues over a restart of the machine. */

import { readFileSync } from 'node:fs';
import { hostname, uptime } from 'node:os';
import { timerMaxMs } from '../core/limits.ts';
import type { Clock } from '../ports/clock.ts';
import { holdProcess } from './system-clock.ts';

/** A monotonic clock that is the same in all processes of the machine until the machine restarts. */
export const machineClock: Clock = {
  /** Uses `hrtime`: `performance.now()` starts at 0 in each process, and loading it takes over a millisecond. */
  nowMs() {
    const [secs, nanos] = process.hrtime();
    return secs * 1_000 + nanos / 1_000_000;
  },
  wallMs: () => Date.now(),
  after(delayMs, run, keepAlive = false) {
    const timer = setTimeout(run, Math.min(Math.max(delayMs, 0), timerMaxMs));
    if (!keepAlive) timer.unref();
    return () => clearTimeout(timer);
  },
  hold: holdProcess,
};

/** Returns an id that changes with every restart of the machine; times of different ids cannot be compared. */
export function machineBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Without Linux: the minute in which the machine started, as exact as the wall clock.
    return `${hostname()}-${Math.round((Date.now() - uptime() * 1000) / 60_000)}`;
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the thread; only for the few milliseconds that a synchronous caller waits for a lock. */
export function sleepSync(ms: number): void {
  Atomics.wait(sleeper, 0, 0, ms);
}

/** Starts a timer; the caller decides with `ref` and `unref` whether it keeps the process alive. */
export function startTimer(ms: number, run: () => void): NodeJS.Timeout {
  return setTimeout(run, Math.max(ms, 0));
}

/** Runs a function at an interval without keeping the process alive; returns a function that stops it. */
export function startInterval(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** Waits for some milliseconds and keeps the process alive meanwhile. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    machineClock.after(ms, resolve, true);
  });
}

/** The store time as it is saved in the store, to continue it after a restart of the machine. */
export interface SavedTime {
  readonly boot: string;
  /** The difference of store time and machine time. */
  readonly offsetMs: number;
  /** When the time was saved, in store time and wall time. */
  readonly seenMs: number;
  readonly seenWallMs: number;
}

/** The time of a store that the processes of one machine share. */
export interface MachineTime {
  readonly clock: Clock;
  /** Returns the time to save in the store. */
  save(): SavedTime;
}

/** Continues the saved store time; store time starts at machine time if none was saved. */
export function createMachineTime(
  saved: SavedTime | undefined,
  boot = machineBootId(),
  machine = machineClock,
): MachineTime {
  const offsetMs = saved === undefined ? 0 : saved.boot === boot ? saved.offsetMs : offsetAfterRestart(saved, machine);
  const nowMs = () => machine.nowMs() + offsetMs;
  return {
    clock: { nowMs, wallMs: machine.wallMs, after: machine.after, ...(machine.hold && { hold: machine.hold }) },
    save: () => ({ boot, offsetMs, seenMs: nowMs(), seenWallMs: machine.wallMs() }),
  };
}

/** Returns the offset after a restart: the wall clock tells how long the machine was off, at least 0 ms. */
function offsetAfterRestart({ seenMs, seenWallMs }: SavedTime, machine: Clock): number {
  return seenMs + Math.max(0, machine.wallMs() - seenWallMs) - machine.nowMs();
}
