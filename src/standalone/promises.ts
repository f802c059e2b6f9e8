/** Sees how a call ends, in its own tick or later. */

import { isThenable } from '../core/thenable.ts';

/** Told of an ending: the value, or the error. */
export type EndingHandler = (ending: unknown) => void;

/** A promise of the platform for what can be awaited, or undefined. A foreign thenable is asked once. */
export function toPromise(result: unknown): Promise<unknown> | undefined {
  return isPromise(result) ? result : isThenable(result) ? Promise.resolve(result) : undefined;
}

/** Whether it is a promise of the platform; what refuses to show its class is none. */
export function isPromise(value: unknown): value is Promise<unknown> {
  try {
    return value instanceof Promise;
  } catch {
    return false;
  }
}
