/** Whether a value can be awaited. An unreadable value counts as not awaitable. */

import { peek } from './classify.ts';

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && typeof peek(value, 'then') === 'function';
}
