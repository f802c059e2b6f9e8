/** The types of journal entries, for the check of a listener: an unknown type would never be heard. */

import type { EntryType } from '../../core/event.ts';
import { quoteValue } from '../../core/quote.ts';
import { invalid } from '../runtime/option-checks.ts';

const entryTypes: { readonly [type in EntryType]: true } = {
  'task-started': true,
  'task-ended': true,
  'task-halted': true,
  'task-stopped': true,
  'task-resumed': true,
  'task-missing': true,
  'action-refused': true,
  'action-waited': true,
  'action-asked': true,
  'action-allowed': true,
  'action-settled': true,
  'work-ended': true,
  'reservation-changed': true,
  'permit-renewed': true,
  'failure-counted': true,
  'breaker-opened': true,
  'breaker-tuned': true,
  'breaker-half-opened': true,
  'breaker-closed': true,
  'breaker-reset': true,
  'breaker-held': true,
  'breaker-released': true,
  'breaker-shadowed': true,
  'limit-raised': true,
  'call-observed': true,
  'result-observed': true,
  'user-observed': true,
  'sign-observed': true,
  'progress-observed': true,
  'usage-observed': true,
  'text-observed': true,
  'health-checked': true,
  'delegation-returned': true,
  'rule-rejected': true,
  'rules-checked': true,
  'run-started': true,
  'run-resumed': true,
  'run-cancelled': true,
  'run-resolved': true,
  'run-ended': true,
  'step-started': true,
  'step-ended': true,
  'standing-given': true,
  'standing-dropped': true,
  'card-changed': true,
  'storm-tripped': true,
  'storm-restarted': true,
  'price-unknown': true,
  'usage-estimated': true,
  'access-refused': true,
  'setting-loosened': true,
  'policy-changed': true,
  'policy-trusted': true,
  'policy-distrusted': true,
  'setting-ignored': true,
  'policy-reloaded': true,
  'order-given': true,
  'store-degraded': true,
  'store-recovered': true,
  'internal-error': true,
  notice: true,
  'loop-suspected': true,
};

/** Throws if no entry has this type. */
export function checkEntryType(type: string): void {
  if (Object.hasOwn(entryTypes, type)) return;
  const area = type.split('-')[0];
  const near = Object.keys(entryTypes).filter((known) => known.split('-')[0] === area);
  const hint = near.length === 0 ? 'see docs/reference/entries.md' : `there are ${near.join(', ')}`;
  throw invalid(`no entry has the type ${quoteValue(type)}; ${hint}`);
}
