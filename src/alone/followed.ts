/** Calls a function and sees how it ends, in its own tick or later. */

import { peek } from '../core/classify.ts';

/** Told of an ending: the value, or the error. */
export type Seen = (ending: unknown) => void;

/** A promise is handed back itself, or what `instead` makes of it. */
export function followed<A extends unknown[], R>(
  fn: (...args: A) => R,
  args: A,
  ok: Seen,
  err: Seen,
  instead?: (promise: Promise<unknown>) => unknown,
): R {
  let result: R;
  try {
    result = fn(...args);
  } catch (error) {
    err(error);
    throw error;
  }
  let promise: Promise<unknown>;
  if (result instanceof Promise) promise = result;
  else if (isThenable(result))
    promise = Promise.resolve(result); // It may start its work on every `then`: asked once.
  else {
    ok(result);
    return result;
  }
  if (instead !== undefined) return instead(promise) as R;
  promise.then(ok, err);
  return promise as R;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof peek(value, 'then') === 'function' && typeof value === 'object';
}
