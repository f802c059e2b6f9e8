/** Writes entries: to the store, to listeners, and the loud ones to the log. Nothing here can change a decision. */

import { SwitchgearError } from '../core/error.ts';
import { type Entry, type EntryBody, type EntryPlace, isTrace } from '../core/event.ts';
import { listenersMax } from '../core/limits.ts';
import type { JournalSettings } from '../core/settings.ts';
import type { Listener } from '../ports/journal.ts';
import type { Store } from '../ports/store.ts';
import { heldBody } from './held.ts';
import { type LogLevel, lineOf } from './log.ts';

export interface Notebook {
  /** Whether plain allows and settlements are written, too. */
  readonly wantsTraces: boolean;
  write(body: EntryBody, place: EntryPlace, atMs: number): void;
  on(listener: Listener): () => void;
  /** Errors of listeners and of our own that were swallowed. */
  readonly errors: number;
  countError(where: string, error: unknown, atMs: number): void;
  /** What is written and held from now on. */
  take(journal: JournalSettings): void;
  /** Whether words and values are held, too. */
  readonly holdsWords: boolean;
}

export function notebook(
  store: Store,
  journal: JournalSettings,
  logLevel: LogLevel,
  print: (line: string) => void,
): Notebook {
  let listeners: readonly Listener[] = [];
  let wantsTraces = journal.level === 'all';
  let holdsWords = journal.content !== 'none';
  let errors = 0;
  let telling = false;

  function write(body: EntryBody, place: EntryPlace, atMs: number): void {
    if (!wantsTraces && isTrace(body.type)) return;
    let entry: Entry;
    try {
      entry = store.append(holdsWords ? body : heldBody(body), place, atMs);
    } catch (error) {
      failed(error); // Nothing that a decision needs: a halt must reach all of its tasks whether or not it is written.
      return;
    }
    for (const listener of listeners) {
      try {
        listener(entry);
      } catch (error) {
        countError('listener', error, atMs);
      }
    }
    // Printed where the agent runs, in full: the person who runs it may read what it does.
    if (logLevel !== 'silent') say(lineOf({ ...entry, ...body } as Entry, logLevel));
  }

  function say(line: string | undefined): void {
    if (line === undefined) return;
    try {
      print(line);
    } catch {
      errors++; // A log that cannot be written is counted, and that is all that can be done.
    }
  }

  /** The journal itself is broken: counted, and said where somebody may read it. */
  function failed(error: unknown): void {
    errors++;
    if (logLevel !== 'silent') say(`⚠️ switchgear: internal error in journal: ${messageOf(error)}`);
  }

  function countError(where: string, error: unknown, atMs: number): void {
    errors++;
    if (telling) return; // A listener that fails on the entry about its failure is not told again.
    telling = true;
    try {
      write({ type: 'internal-error', where, message: messageOf(error), code: 'internal_error' }, {}, atMs);
    } finally {
      telling = false;
    }
  }

  return {
    get wantsTraces() {
      return wantsTraces;
    },
    get errors() {
      return errors;
    },
    write,
    countError,
    get holdsWords() {
      return holdsWords;
    },
    take({ level, content }) {
      wantsTraces = level === 'all';
      holdsWords = content !== 'none';
    },
    on(listener) {
      if (typeof listener !== 'function') {
        throw new SwitchgearError('invalid_argument', `a listener must be a function, got ${typeof listener}`);
      }
      if (listeners.length >= listenersMax) {
        throw new SwitchgearError('too_many_listeners', `at most ${listenersMax} listeners can be added`);
      }
      listeners = [...listeners, listener];
      return () => {
        listeners = listeners.filter((other) => other !== listener);
      };
    },
  };
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return 'an error that cannot be read';
  }
}
