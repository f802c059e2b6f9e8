/** Writes entries: to the store, to listeners, and the loud ones to the log. Nothing here can change a decision. */

import { SwitchgearError } from '../../core/error.ts';
import { type Entry, type EntryBody, type EntryPlace, isTrace } from '../../core/event.ts';
import { listenersMax } from '../../core/limits.ts';
import type { Listener } from '../../ports/journal.ts';
import { fn } from '../runtime/option-checks.ts';
import type { Works } from '../runtime/runtime.ts';
import { lineOf, warning } from './log.ts';
import { heldBody } from './redaction.ts';

/** Whether plain allows and settlements are written, too. */
export function wantsTraces({ settings }: Works): boolean {
  return settings.journal.level === 'all';
}

/** Whether words and values are held, too. */
export function holdsWords({ settings }: Works): boolean {
  return settings.journal.content !== 'none';
}

/** The body of an entry as it is kept. */
export function held(works: Works, body: EntryBody): EntryBody {
  return holdsWords(works) ? (works.content?.add(body) ?? body) : heldBody(body, works.rules);
}

export function write(works: Works, body: EntryBody, place: EntryPlace = {}, atMs: number = works.clock.nowMs()): void {
  if (isTrace(body.type) && !wantsTraces(works)) return;
  let entry: Entry;
  try {
    entry = works.store.append(held(works, body), place, atMs);
  } catch (error) {
    works.errors++; // Nothing that a decision needs: a halt must reach all of its tasks whether or not it is written.
    if (works.logLevel !== 'silent') say(works, `${warning}internal error in journal: ${messageOf(error)}`);
    return;
  }
  announce(works, entry, body);
}

/** Tells listeners and the log what was written. */
export function announce(works: Works, entry: Entry, body: EntryBody = entry): void {
  for (const listener of works.listeners) {
    try {
      listener(entry);
    } catch (error) {
      countError(works, 'listener', error);
    }
  }
  // Printed where the agent runs, in full: the person who runs it may read what it does.
  if (works.logLevel !== 'silent') say(works, lineOf({ ...entry, ...body } as Entry, works.logLevel));
}

function say(works: Works, line: string | undefined): void {
  if (line === undefined) return;
  try {
    works.print(line);
  } catch {
    works.errors++; // A log that cannot be written is counted, and that is all that can be done.
  }
}

/** An error that is swallowed is counted, and told of. */
export function countError(works: Works, where: string, error: unknown): void {
  works.errors++;
  if (works.telling) return; // A listener that fails on the entry about its failure is not told again.
  works.telling = true;
  try {
    write(works, { type: 'internal-error', where, message: messageOf(error), code: 'internal_error' });
  } finally {
    works.telling = false;
  }
}

export function listen(works: Works, listener: Listener): () => void {
  fn('a listener', listener);
  if (works.listeners.length >= listenersMax) {
    throw new SwitchgearError('too_many_listeners', `at most ${listenersMax} listeners can be added`);
  }
  works.listeners = [...works.listeners, listener];
  return () => {
    works.listeners = works.listeners.filter((other) => other !== listener);
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
