/** Keeps the log of a file small: a thread of its own copies it into the file, so that no event loop stands still. */

import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

export interface Checkpoints {
  /** Looks how long the log is; starts the thread once it is worth it. */
  look(): void;
  stop(): void;
}

const worthItBytes = 1_048_576;

/** Plain JavaScript, since it has to run as it is from the source, the package and a bundle. */
const program = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const db = new DatabaseSync(workerData);
db.exec('PRAGMA busy_timeout = 20; PRAGMA synchronous = NORMAL');
parentPort.on('message', (message) => {
  if (message === 'stop') { db.close(); parentPort.close(); return; }
  try {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.exec('PRAGMA incremental_vacuum(64)');
  } catch {}
  parentPort.postMessage('done');
});`;

export function createCheckpoints(path: string): Checkpoints {
  let worker: Worker | undefined;
  let busy = false;
  let stopped = false;
  return {
    look() {
      if (busy || stopped) return;
      const bytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
      if (bytes < worthItBytes) return;
      if (worker === undefined) {
        worker = new Worker(program, { eval: true, workerData: path });
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
    },
    stop() {
      stopped = true;
      worker?.postMessage('stop');
      worker = undefined;
    },
  };
}
