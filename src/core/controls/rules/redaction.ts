/** What rules saw, taken out of what is kept: a rule on a number says by itself which one it was. */

import type { Card } from '../../card.ts';
import type { EntryBody } from '../../event.ts';

/** An entry or a card without the numbers that rules saw. */
export function redact<T extends EntryBody | Card>(item: T): T {
  return mayHoldValues(item) ? removeValues(item) : item;
}

/** Cards and some entries speak in a rule's words; others hold what it saw where it looked at their action. */
function mayHoldValues(item: EntryBody | Card): boolean {
  if (!('type' in item) || /^(task-halted|card-changed|action-refused)$/.test(item.type)) return true;
  const action = 'action' in item ? item.action : 'permit' in item ? item.permit.action : undefined;
  return action?.hits !== undefined;
}

function removeValues<T>(value: T): T {
  if (typeof value === 'string') return value.replace(/ [-+.\de]+ (?=exceeds threshold )/gi, ' ') as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(removeValues) as T;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, removeValues(part)])) as T;
}
