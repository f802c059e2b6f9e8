/** The one lock of a file: taken in this tick, or not at all. */

import { machineClock, sleepSync } from '../../platform/machine-clock.ts';
import type { SqliteConnection } from './connection.ts';
import { classifySqliteError } from './errors.ts';

const pauseMinMs = 0.2;

/** Takes the lock, or waits at most so long for it. */
export function acquireLock({ db, runner }: SqliteConnection, patienceMs: number, durable: boolean): boolean {
  const untilMs = machineClock.nowMs() + patienceMs;
  for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(pauseMs * 1.5, 1)) {
    try {
      if (durable) db.exec('PRAGMA synchronous = FULL');
      runner.begin();
      return true;
    } catch (error) {
      if (durable) db.exec('PRAGMA synchronous = NORMAL');
      if (classifySqliteError(error) !== 'busy') throw error;
    }
    if (machineClock.nowMs() + pauseMs > untilMs) return false;
    sleepSync(pauseMs * (0.5 + Math.random()));
  }
}
