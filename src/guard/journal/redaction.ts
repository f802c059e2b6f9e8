/**
 * Redacts entries by default: the store keeps names, sizes, classes and counts. Texts of workers, error messages and
 * argument values go to listeners and to the log of this process, but are not stored.
 */

import type { EntryBody } from '../../core/event.ts';
import type { RuleEngine } from '../../core/rule-engine.ts';

/** The redacted body of an entry. Only rules produce values, so the rule engine redacts them. */
export function redactBody(body: EntryBody, rules: RuleEngine | undefined): EntryBody {
  if (body.type === 'delegation-returned') return { ...body, reason: failureClass(body.reason) };
  if (body.type === 'failure-counted' && body.message !== undefined) {
    const { message: _, ...rest } = body;
    return rest;
  }
  if (body.type === 'internal-error') return { ...body, message: /^\w+(?=: )/.exec(body.message)?.[0] ?? 'Error' };
  return rules === undefined ? body : rules.redact(body);
}

/** The class of a worker's failure, without its text. */
function failureClass(reason: string): string {
  return (
    reason &&
    (/^(Worker (reported limitation|returned the same output twice)|Task incomplete|[a-z]+_[a-z_]+(?=:))/.exec(
      reason,
    )?.[0] ??
      'failed')
  );
}
