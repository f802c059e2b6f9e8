/** The time of a store that machines share: the server's, advanced by this machine, and never turned back. */

import type { Clock } from '../ports/clock.ts';
import { machineClock } from './machine-clock.ts';

export interface RedisTime {
  readonly clock: Clock;
  /** The server said what time it is, somewhere between asking and hearing. */
  hear(askedMs: number, heardMs: number, serverMs: number): void;
}

/** How much faster or slower than the machine the store's time goes to catch up: a jump is not followed. */
const slewShare = 0.005;

export function redisTime(machine: Clock = machineClock): RedisTime {
  let offsetMs = machine.wallMs() - machine.nowMs();
  let heardBefore = Number.NaN;
  return {
    clock: { nowMs: () => machine.nowMs() + offsetMs, wallMs: machine.wallMs, after: machine.after },
    hear(askedMs, heardMs, serverMs) {
      const measured = serverMs - (askedMs + heardMs) / 2;
      if (Number.isNaN(heardBefore)) offsetMs = measured;
      else if (Math.abs(measured - offsetMs) > (heardMs - askedMs) / 2 + 1) {
        const most = (heardMs - heardBefore) * slewShare;
        offsetMs += Math.max(-most, Math.min(most, measured - offsetMs));
      }
      heardBefore = heardMs;
    },
  };
}
