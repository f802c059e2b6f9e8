/** Writes entries: to the store, to listeners, and the loud ones to the log. Nothing here can change a decision. */

import { SwitchgearError } from '../core/error.ts';
import { type EntryBody, type EntryPlace, isTrace } from '../core/event.ts';
import { listenersMax } from '../core/limits.ts';
import type { Listener } from '../ports/journal.ts';
import type { Store } from '../ports/store.ts';
import { type LogLevel, lineOf } from './log.ts';

export interface Notebook {
  /** Whether plain allows and settlements are written, too. */
  readonly wantsTraces: boolean;
  write(body: EntryBody, place: EntryPlace, atMs: number): void;
  on(listener: Listener): () => void;
  /** Errors of listeners and of our own that were swallowed. */
  readonly errors: number;
  countError(where: string, error: unknown, atMs: number): void;
  setLevel(level: 'refusals' | 'all'): void;
}

export function notebook(
  store: Store,
  level: 'refusals' | 'all',
  logLevel: LogLevel,
  print: (line: string) => void,
): Notebook {
  let listeners: readonly Listener[] = [];
  let wantsTraces = level === 'all';
  let errors = 0;
  let telling = false;

  function write(body: EntryBody, place: EntryPlace, atMs: number): void {
    if (!wantsTraces && isTrace(body.type)) return;
    const entry = store.append(body, place, atMs);
    for (const listener of listeners) {
      try {
        listener(entry);
      } catch (error) {
        countError('listener', error, atMs);
      }
    }
    const line = lineOf(entry, logLevel);
    if (line === undefined) return;
    try {
      print(line);
    } catch {
      errors++; // A log that cannot be written is counted, and that is all that can be done.
    }
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
    setLevel(next) {
      wantsTraces = next === 'all';
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
