/** Sees how a call ends, in its own tick or later. */

import { isThenable } from '../core/thenable.ts';

/** Told of an ending: the value, or the error. */
export type Seen = (ending: unknown) => void;

/** What a function returned, handed on once somebody sees to its end. A promise is handed back itself. */
export function ended(result: unknown, ok: Seen, err: Seen): unknown {
  if (!isThenable(result)) {
    ok(result);
    return result;
  }
  // A foreign thenable may start its work on every `then`: it is asked once.
  const promise = Promise.resolve(result);
  promise.then(ok, err);
  return promise;
}

/** Whether it is a promise of the platform; what refuses to show its class is none. */
export function isPromise(value: unknown): value is Promise<unknown> {
  try {
    return value instanceof Promise;
  } catch {
    return false;
  }
}
