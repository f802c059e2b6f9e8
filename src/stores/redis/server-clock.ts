/** The clock of a Redis store: the time of the server, advanced by the clock of this machine. */

import { machineClock } from '../../platform/machine-clock.ts';
import type { Clock } from '../../ports/clock.ts';

/** A clock that follows the server. */
export interface ServerClock {
  readonly clock: Clock;
  /** Adjusts the clock to a time of the server between sending a request and getting the reply. */
  observe(askedMs: number, heardMs: number, serverMs: number): void;
}

/** The clock adjusts by at most 0.5 % of the elapsed time, so that it never jumps. */
const slewShare = 0.005;

/** Creates a clock that starts at the wall time of the machine. */
export function createServerClock(machine: Clock = machineClock): ServerClock {
  let offsetMs = machine.wallMs() - machine.nowMs();
  let heardBefore = Number.NaN;
  let wasRead = false;
  let quickestMs = Number.POSITIVE_INFINITY;
  function nowMs(): number {
    wasRead = true;
    return machine.nowMs() + offsetMs;
  }
  return {
    clock: { nowMs, wallMs: machine.wallMs, after: machine.after, ...(machine.hold && { hold: machine.hold }) },
    observe(askedMs, heardMs, serverMs) {
      const measured = serverMs - (askedMs + heardMs) / 2;
      const tookMs = heardMs - askedMs;
      // Before the first read the clock takes the time of the quickest reply, which is the most exact one.
      if (Number.isNaN(heardBefore) || (!wasRead && tookMs < quickestMs)) {
        offsetMs = measured;
        quickestMs = tookMs;
      } else if (Math.abs(measured - offsetMs) > tookMs / 2 + 1) {
        const most = (heardMs - heardBefore) * slewShare;
        offsetMs += Math.max(-most, Math.min(most, measured - offsetMs));
      }
      heardBefore = heardMs;
    },
  };
}
