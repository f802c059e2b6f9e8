/** The one lock of a file: taken in this tick, or not at all. */

import { machineClock, standStill } from '../../platform/machine-clock.ts';
import type { Session } from './connection.ts';
import { troubleOf } from './errors.ts';

const pauseMinMs = 0.2;

/** Takes the lock, or waits at most so long for it. */
export function takeLock({ db, runner }: Session, patienceMs: number, durable: boolean): boolean {
  const untilMs = machineClock.nowMs() + patienceMs;
  for (let pause = pauseMinMs; ; pause = Math.min(pause * 1.5, 1)) {
    try {
      if (durable) db.exec('PRAGMA synchronous = FULL');
      runner.begin();
      return true;
    } catch (error) {
      if (durable) db.exec('PRAGMA synchronous = NORMAL');
      if (troubleOf(error) !== 'busy') throw error;
    }
    if (machineClock.nowMs() + pause > untilMs) return false;
    standStill(pause * (0.5 + Math.random()));
  }
}
