/** The type of a journal entry as a word; the type itself is its title. */

import { eventWord } from '../logic/event-words.ts';

export function EventType({ type }: { readonly type: string }) {
  return <span title={type}>{eventWord(type)}</span>;
}
