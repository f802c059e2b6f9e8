/** A call that may take too long: cut when its time is up, or counted as failed where it cannot be cut. */

import { isThenable } from '../core/thenable.ts';
import type { Seen } from './ended.ts';
import type { Model } from './model.ts';

/** Told how it ends. */
interface Watcher {
  readonly ok: Seen;
  readonly err: Seen;
  /** Its time is up. */
  readonly giveUp: (error: Error) => void;
  /** The work of a call that was given up really ended: only now is its slot free. */
  readonly endWork: () => void;
}

export function timedCall<A extends unknown[], R>(model: Model, fn: (...args: A) => R, args: A, watcher: Watcher): R {
  const { exact } = model; // A clock that is seldom asked could cut a call short that has just begun.
  const beganMs = exact.nowMs();
  let result: R;
  try {
    result = fn(...args);
  } catch (error) {
    watcher.err(error);
    throw error;
  }
  if (isThenable(result)) return race(model, Promise.resolve(result), beganMs, watcher) as R;
  if (exact.nowMs() - beganMs > limitMs(model)) watcher.err(timeoutError(model));
  else watcher.ok(result);
  return result;
}

function limitMs({ settings }: Model): number {
  return settings.timeoutSecs! * 1000;
}

function timeoutError({ name, settings }: Model): DOMException {
  return new DOMException(`'${name}' took longer than ${settings.timeoutSecs} s`, 'TimeoutError');
}

/** Ends with the work, or when its time is up. */
function race(model: Model, promise: Promise<unknown>, beganMs: number, watcher: Watcher): Promise<unknown> {
  const timed = model.timed!;
  return new Promise((resolve, reject) => {
    const timeout = timed.add(limitMs(model), beganMs, () => {
      const error = timeoutError(model);
      watcher.giveUp(error);
      reject(error);
    });
    promise.then(
      (value) => {
        if (timed.remove(timeout)) watcher.ok(value);
        else watcher.endWork();
        resolve(value);
      },
      (error) => {
        if (timed.remove(timeout)) watcher.err(error);
        else watcher.endWork();
        reject(error);
      },
    );
  });
}
