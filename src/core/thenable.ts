/** Whether a value can be awaited. What refuses to be looked at is handed on as it is. */

import { peek } from './classify.ts';

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && typeof peek(value, 'then') === 'function';
}
