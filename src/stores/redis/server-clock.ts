/** The time of a store that machines share: the server's, advanced by this machine, and never turned back. */

import { machineClock } from '../../platform/machine-clock.ts';
import type { Clock } from '../../ports/clock.ts';

export interface ServerClock {
  readonly clock: Clock;
  /** The server said what time it is, somewhere between asking and hearing. */
  observe(askedMs: number, heardMs: number, serverMs: number): void;
}

/** How much faster or slower than the machine the store's time goes to catch up: a jump is not followed. */
const slewShare = 0.005;

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
    clock: { nowMs, wallMs: machine.wallMs, after: machine.after },
    observe(askedMs, heardMs, serverMs) {
      const measured = serverMs - (askedMs + heardMs) / 2;
      const tookMs = heardMs - askedMs;
      // The quickest answer is the surest one, as long as nobody could see the time turn back.
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
