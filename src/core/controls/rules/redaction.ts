/** Removes the values that rules observed from entries and cards. */

import type { Card } from '../../card.ts';
import type { EntryBody } from '../../event.ts';

/** Returns an entry or a card without observed numbers. */
export function redact<T extends EntryBody | Card>(item: T): T {
  return mayHoldValues(item) ? removeValues(item) : item;
}

/** Cards and some entries contain a rule's reason; others contain the rule hits of their action. */
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
