/** Writes entries: to the store, to listeners, and the loud ones to the log. Nothing here can change a decision. */

import { SwitchgearError } from '../../core/error.ts';
import { type Entry, type EntryBody, type EntryPlace, isTrace } from '../../core/event.ts';
import { listenersMax } from '../../core/limits.ts';
import type { Listener } from '../../ports/journal.ts';
import { fn } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { lineOf, warning } from './log.ts';
import { heldBody } from './redaction.ts';

/** Whether plain allows and settlements are written, too. */
export function wantsTraces({ settings }: Runtime): boolean {
  return settings.journal.level === 'all';
}

/** Whether words and values are held, too. */
export function holdsWords({ settings }: Runtime): boolean {
  return settings.journal.content !== 'none';
}

/** The body of an entry as it is kept. */
export function held(runtime: Runtime, body: EntryBody): EntryBody {
  return holdsWords(runtime) ? (runtime.content?.add(body) ?? body) : heldBody(body, runtime.rules);
}

export function write(
  runtime: Runtime,
  body: EntryBody,
  place: EntryPlace = {},
  atMs: number = runtime.clock.nowMs(),
): void {
  if (isTrace(body.type) && !wantsTraces(runtime)) return;
  let entry: Entry;
  try {
    entry = runtime.store.append(held(runtime, body), place, atMs);
  } catch (error) {
    runtime.errors++; // Nothing that a decision needs: a halt must reach all of its tasks whether or not it is written.
    if (runtime.logLevel !== 'silent') say(runtime, `${warning}internal error in journal: ${messageOf(error)}`);
    return;
  }
  announce(runtime, entry, body);
}

/** Tells listeners and the log what was written. */
export function announce(runtime: Runtime, entry: Entry, body: EntryBody = entry): void {
  for (const listener of runtime.listeners) {
    try {
      listener(entry);
    } catch (error) {
      countError(runtime, 'listener', error);
    }
  }
  // Printed where the agent runs, in full: the person who runs it may read what it does.
  if (runtime.logLevel !== 'silent') say(runtime, lineOf({ ...entry, ...body } as Entry, runtime.logLevel));
}

function say(runtime: Runtime, line: string | undefined): void {
  if (line === undefined) return;
  try {
    runtime.print(line);
  } catch {
    runtime.errors++; // A log that cannot be written is counted, and that is all that can be done.
  }
}

/** An error that is swallowed is counted, and told of. */
export function countError(runtime: Runtime, where: string, error: unknown): void {
  runtime.errors++;
  if (runtime.telling) return; // A listener that fails on the entry about its failure is not told again.
  runtime.telling = true;
  try {
    write(runtime, { type: 'internal-error', where, message: messageOf(error), code: 'internal_error' });
  } finally {
    runtime.telling = false;
  }
}

export function listen(runtime: Runtime, listener: Listener): () => void {
  fn('a listener', listener);
  if (runtime.listeners.length >= listenersMax) {
    throw new SwitchgearError('too_many_listeners', `at most ${listenersMax} listeners can be added`);
  }
  runtime.listeners = [...runtime.listeners, listener];
  return () => {
    runtime.listeners = runtime.listeners.filter((other) => other !== listener);
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
