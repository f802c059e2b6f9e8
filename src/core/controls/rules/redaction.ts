/** What rules saw, taken out of what is kept: a rule on a number says by itself which one it was. */

import type { Card } from '../../card.ts';
import type { EntryBody } from '../../event.ts';

/** An entry or a card without the numbers that rules saw. */
export function hide<T extends EntryBody | Card>(kept: T): T {
  return mayTell(kept) ? withoutValues(kept) : kept;
}

/** Cards and some entries speak in a rule's words; others hold what it saw where it looked at their action. */
function mayTell(kept: EntryBody | Card): boolean {
  if (!('type' in kept) || /^(task-halted|card-changed|action-refused)$/.test(kept.type)) return true;
  const action = 'action' in kept ? kept.action : 'permit' in kept ? kept.permit.action : undefined;
  return action?.hits !== undefined;
}

function withoutValues<T>(value: T): T {
  if (typeof value === 'string') return value.replace(/ [-+.\de]+ (?=exceeds threshold )/gi, ' ') as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutValues) as T;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withoutValues(part)])) as T;
}
