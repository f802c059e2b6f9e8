/** Copies the write-ahead log into the file in a worker thread, so that no event loop blocks. */

import { statSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';

/** The checkpoints of one file. */
export interface Checkpoints {
  /** Starts a copy if the log is over 4 MB; returns true if it is over 256 MB, so that the writer has to copy it. */
  copyLogIfLong(): boolean;
  /** Whether the log is over 1 MB, so that a closing process should copy it. */
  isDue(): boolean;
  stop(): void;
}

const worthItBytes = 4_194_304;
const dueBytes = 1_048_576;
/** The writer itself copies a log of this length. */
const tooLongBytes = 268_435_456;

/**
 * The program of the worker in plain JavaScript, because it has to run from the source, the package and a bundle. A
 * passive checkpoint copies most of the log while others write; the rest needs the lock, with up to 200 attempts.
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

/** Creates the checkpoints of a file; the worker starts with the first copy. */
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
        const threads = process.getBuiltinModule('node:worker_threads'); // Most processes need no worker.
        // Where Node calls SQLite experimental, the thread that opened the file has printed the warning already.
        const execArgv = ['--disable-warning=ExperimentalWarning'];
        worker = new threads.Worker(program, { eval: true, execArgv, workerData: path });
        worker.unref();
        worker.on('message', () => {
          busy = false;
        });
        // The next call starts a new worker; the log only grows meanwhile.
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
