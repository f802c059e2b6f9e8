/** The time of this machine: monotonic, the same in all its processes, until it is started anew. */

import { readFileSync } from 'node:fs';
import { hostname, uptime } from 'node:os';
import { timerMaxMs } from '../core/limits.ts';
import type { Clock } from '../ports/clock.ts';

export const machineClock: Clock = {
  /** Not the performance clock, which is the process's own, and takes a hook more than a millisecond to load. */
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
};

/** Another one after every start of the machine; only times of the same one can be compared. */
function machineBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Elsewhere the minute it was started in, give or take what the wall clock was moved since.
    return `${hostname()}-${Math.round((Date.now() - uptime() * 1000) / 60_000)}`;
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Stands still. Only for a synchronous caller, and only for the few milliseconds of a lock. */
export function sleepSync(ms: number): void {
  Atomics.wait(sleeper, 0, 0, ms);
}

/** A timer that whoever has it lets keep the process alive, or not. */
export function startTimer(ms: number, run: () => void): NodeJS.Timeout {
  return setTimeout(run, Math.max(ms, 0));
}

/** Does something again and again, and keeps nothing alive for it. */
export function startInterval(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** Waits, and keeps the process alive meanwhile. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    machineClock.after(ms, resolve, true);
  });
}

/** Written into the store; compared with what the machine says. */
export interface SavedTime {
  readonly boot: string;
  /** From the machine's time to the store's. */
  readonly offsetMs: number;
  /** When it was last looked at, in the store's time and by the wall. */
  readonly seenMs: number;
  readonly seenWallMs: number;
}

export interface MachineTime {
  readonly clock: Clock;
  /** What is to be written now. */
  save(): SavedTime;
}

export function createMachineTime(
  saved: SavedTime | undefined,
  boot = machineBootId(),
  machine = machineClock,
): MachineTime {
  const offsetMs = saved === undefined ? 0 : saved.boot === boot ? saved.offsetMs : offsetAfterRestart(saved, machine);
  const nowMs = () => machine.nowMs() + offsetMs;
  return {
    clock: { nowMs, wallMs: machine.wallMs, after: machine.after },
    save: () => ({ boot, offsetMs, seenMs: nowMs(), seenWallMs: machine.wallMs() }),
  };
}

/** How long the machine was off, only the wall clock knows; and it may lie backwards, never forwards into the past. */
function offsetAfterRestart({ seenMs, seenWallMs }: SavedTime, machine: Clock): number {
  return seenMs + Math.max(0, machine.wallMs() - seenWallMs) - machine.nowMs();
}
