/** Types of journal entries as words for people; the type itself is the title of the word. */

import type { EntryType } from '../../../src/core/event.ts';

/** Types whose name without its dashes says less. */
const words: Readonly<Partial<Record<EntryType, string>>> = {
  'task-started': 'started',
  'task-ended': 'ended',
  'task-halted': 'halted',
  'task-stopped': 'waits',
  'task-resumed': 'goes on',
  'task-missing': 'no task',
  'action-allowed': 'allowed',
  'action-refused': 'refused',
  'action-waited': 'delayed',
  'action-asked': 'asked a person',
  'action-settled': 'finished',
  'work-ended': 'late end',
  'permit-renewed': 'still running',
  'failure-counted': 'failed',
  'breaker-half-opened': 'breaker half-open',
  'breaker-held': 'breaker held open',
  'breaker-shadowed': 'would refuse',
  'breaker-tuned': 'breaker settings',
  'health-checked': 'health check',
  'call-observed': 'call',
  'result-observed': 'result',
  'usage-observed': 'model call',
  'text-observed': 'text',
  'user-observed': 'user input',
  'sign-observed': 'sign of life',
  'progress-observed': 'progress',
  'delegation-returned': 'worker returned',
  'run-resolved': 'step settled',
  'standing-given': 'approved always',
  'standing-dropped': 'approval revoked',
  'card-changed': 'card',
  'storm-tripped': 'event storm',
  'storm-restarted': 'storm over',
  'access-refused': 'no access',
  'store-degraded': 'store away',
  'store-recovered': 'store back',
  'order-given': 'order',
};

/** The words for a type; any other type, also that of a newer version, without its dashes. */
export function eventWord(type: string): string {
  return (words as Readonly<Record<string, string>>)[type] ?? type.replaceAll('-', ' ');
}
