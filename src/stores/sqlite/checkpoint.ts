/** Keeps the log of a file small: a thread of its own copies it into the file, so that no event loop stands still. */

import { statSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';

export interface Checkpoints {
  /** Looks how long the log is and has it copied where that is worth it; true where it grows faster than that. */
  copyLogIfLong(): boolean;
  /** Whether whoever ends should copy it: else the next who opens the file alone has to read it. */
  isDue(): boolean;
  stop(): void;
}

const worthItBytes = 4_194_304;
const dueBytes = 1_048_576;
/** A log this long is copied by whoever writes, however long that takes. */
const tooLongBytes = 268_435_456;

/**
 * Plain JavaScript, since it has to run as it is from the source, the package and a bundle. Most is copied while others
 * write; for the rest they have to stand still, and the lock for that is asked for until it is had.
 */
const program = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const db = new DatabaseSync(workerData);
db.exec('PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL');
const passive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
const whole = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
const clock = new Int32Array(new SharedArrayBuffer(4));
function copied() {
  try { passive.get(); return whole.get().busy === 0; } catch { return false; }
}
parentPort.on('message', (message) => {
  if (message === 'stop') { db.close(); parentPort.close(); return; }
  for (let tries = 0; tries < 200 && !copied(); tries++) Atomics.wait(clock, 0, 0, Math.random());
  try { db.exec('PRAGMA incremental_vacuum(64)'); } catch {}
  parentPort.postMessage('done');
});`;

export function createCheckpoints(path: string): Checkpoints {
  let worker: Worker | undefined;
  let busy = false;
  let stopped = false;
  const logBytes = () => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return {
    copyLogIfLong() {
      if (stopped) return false;
      const bytes = logBytes();
      if (busy || bytes < worthItBytes) return bytes > tooLongBytes;
      if (worker === undefined) {
        const threads = process.getBuiltinModule('node:worker_threads'); // Most who open a file never need one.
        // Where Node calls SQLite experimental, the thread that opened the file has said so.
        const execArgv = ['--disable-warning=ExperimentalWarning'];
        worker = new threads.Worker(program, { eval: true, execArgv, workerData: path });
        worker.unref();
        worker.on('message', () => {
          busy = false;
        });
        // A thread that broke is replaced at the next look; the log only grows meanwhile.
        worker.on('error', () => {
          worker = undefined;
          busy = false;
        });
      }
      busy = true;
      worker.postMessage('look');
      return bytes > tooLongBytes;
    },
    isDue: () => logBytes() > dueBytes,
    stop() {
      stopped = true;
      worker?.postMessage('stop');
      worker = undefined;
    },
  };
}
