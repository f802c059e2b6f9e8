/**
 * What is held where nobody asked for more: names, sizes, classes, counts. Words of a worker, messages of errors and
 * values of arguments go to whoever asks and to the terminal of whoever runs the agent; they are not kept.
 */

import type { EntryBody } from '../core/event.ts';

/** The body of an entry as it is kept. */
export function heldBody(body: EntryBody): EntryBody {
  if (body.type === 'delegation-returned') return { ...body, reason: classOf(body.reason) };
  if (body.type === 'internal-error') return { ...body, message: /^\w+(?=: )/.exec(body.message)?.[0] ?? 'Error' };
  const action = 'action' in body ? body.action : 'permit' in body ? body.permit.action : undefined;
  const speaks = /^(task-halted|card-changed|action-refused)$/.test(body.type);
  return speaks || (typeof action === 'object' && action.hits !== undefined) ? withoutValues(body) : body;
}

/** The same without the numbers that rules saw: a rule on a number says by itself which one it was. */
export function withoutValues<T>(value: T): T {
  if (typeof value === 'string') return value.replace(/ [-+.\de]+ (?=exceeds threshold )/gi, ' ') as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutValues) as T;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withoutValues(part)])) as T;
}

/** How a worker failed, without its words. */
function classOf(reason: string): string {
  return (
    reason &&
    (/^(Worker (reported limitation|returned the same output twice)|Task incomplete|[a-z]+_[a-z_]+(?=:))/.exec(
      reason,
    )?.[0] ??
      'failed')
  );
}
