/**
 * What is held where nobody asked for more: names, sizes, classes, counts. Words of a worker, messages of errors and
 * values of arguments go to whoever asks and to the terminal of whoever runs the agent; they are not kept.
 */

import type { EntryBody } from '../../core/event.ts';
import type { RuleEngine } from '../../core/rule-engine.ts';

/** The body of an entry as it is kept. Values come up only where there are rules, and these know how to hide them. */
export function redactBody(body: EntryBody, rules: RuleEngine | undefined): EntryBody {
  if (body.type === 'delegation-returned') return { ...body, reason: failureClass(body.reason) };
  if (body.type === 'internal-error') return { ...body, message: /^\w+(?=: )/.exec(body.message)?.[0] ?? 'Error' };
  return rules === undefined ? body : rules.redact(body);
}

/** How a worker failed, without its words. */
function failureClass(reason: string): string {
  return (
    reason &&
    (/^(Worker (reported limitation|returned the same output twice)|Task incomplete|[a-z]+_[a-z_]+(?=:))/.exec(
      reason,
    )?.[0] ??
      'failed')
  );
}
