/** Awaitable values, and callbacks of the host that may return one. */

import { peek } from './classify.ts';

/** The error of a value whose `then` cannot be read. */
export interface ThenError {
  readonly error: unknown;
}

/**
 * Reads `then` as an await does: whether the value can be awaited, or the error with which awaiting it rejects.
 */
export function readThen(value: unknown): boolean | ThenError {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return typeof (value as { readonly then?: unknown }).then === 'function';
  } catch (error) {
    return { error };
  }
}

/** Whether a value can be awaited. An unreadable value counts as not awaitable. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && typeof peek(value, 'then') === 'function';
}

/**
 * Calls a callback of the host whose result is not awaited. An error that the callback throws, or that its promise
 * rejects with, goes to `onError`: an unhandled rejection would end the process.
 */
export function callUnawaited(callback: () => unknown, onError: (error: unknown) => void): void {
  try {
    catchRejection(callback(), onError);
  } catch (error) {
    onError(error);
  }
}

/** Passes the rejection of a value that is not awaited to `onError`. */
function catchRejection(value: unknown, onError: (error: unknown) => void): void {
  if (isThenable(value)) value.then(undefined, onError);
}

/** Returns the result of a synchronous callback of the host; throws if the callback is async. */
export function requireSync<T>(what: string, value: T): T {
  if (!isThenable(value)) return value;
  catchRejection(value, () => {});
  throw new TypeError(`${what} must not return a promise`);
}
