/** Acquires the write lock of a file within the current tick. */

import { machineClock, sleepSync } from '../../platform/machine-clock.ts';
import type { SqliteConnection } from './connection.ts';
import { classifySqliteError } from './errors.ts';

const pauseMinMs = 0.2;

/** Begins a transaction; waits up to `patienceMs` for the lock and returns false if it stays busy. */
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
