/** The interface of journal listeners. */

import type { Entry } from '../core/event.ts';

/** Gets every entry after it was written. A listener cannot change a decision; an error that it throws is ignored. */
export type JournalListener = (entry: Entry) => void;
