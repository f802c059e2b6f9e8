/** The read side of the journal. */

import type { Entry } from '../core/event.ts';

/** Told of every entry after it was written. It cannot change what was decided, and what it throws is swallowed. */
export type JournalListener = (entry: Entry) => void;
