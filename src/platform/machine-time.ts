/** The time of a store that one machine's processes share: it goes on over a restart of the machine, never back. */

import type { Clock } from '../ports/clock.ts';
import { machineBootId, machineClock } from './machine-clock.ts';

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
