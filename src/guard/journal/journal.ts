/** Writes entries to the store, to listeners and to the log. Nothing here can change a decision. */

import { SwitchgearError } from '../../core/error.ts';
import { type Entry, type EntryBody, type EntryPlace, isTrace } from '../../core/event.ts';
import { cleanLine, textOf } from '../../core/foreign-text.ts';
import { errorMessageMax, listenersMax } from '../../core/limits.ts';
import { showError } from '../../core/messages/shown-error.ts';
import { callUnawaited } from '../../core/thenable.ts';
import type { JournalListener } from '../../ports/journal.ts';
import { fn } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { formatLogLine, ours, warning } from './log.ts';
import { redactBody } from './redaction.ts';

/** Whether traces (allows and settlements) are written. */
export function wantsTraces({ settings }: Runtime): boolean {
  return settings.journal.level === 'all';
}

/** Whether the journal keeps texts and values. */
export function keepsContent({ settings }: Runtime): boolean {
  return settings.journal.content !== 'none';
}

/** Whether somebody reads the message of a failure: the log from `info` on, or a journal that keeps texts. */
export function showsFailures(runtime: Runtime): boolean {
  return runtime.logLevel === 'info' || runtime.logLevel === 'debug' || keepsContent(runtime);
}

/** The body of an entry as the store keeps it. */
export function redactEntry(runtime: Runtime, body: EntryBody): EntryBody {
  return keepsContent(runtime) ? (runtime.content?.addArgs(body) ?? body) : redactBody(body, runtime.rules);
}

export function appendEntry(
  runtime: Runtime,
  body: EntryBody,
  place: EntryPlace = {},
  atMs: number = runtime.clock.nowMs(),
): void {
  if (isTrace(body.type) && !wantsTraces(runtime)) return;
  let entry: Entry;
  try {
    entry = runtime.store.append(redactEntry(runtime, body), place, atMs);
  } catch (error) {
    runtime.errors++; // A failed write must not stop a decision: a halt must reach all its tasks.
    if (runtime.logLevel !== 'silent')
      printLine(runtime, cleanLine(`${warning}internal error in journal: ${errorMessage(error)}`));
    return;
  }
  publishEntry(runtime, entry, body);
}

/** Passes a written entry to listeners and to the log. */
export function publishEntry(runtime: Runtime, entry: Entry, body: EntryBody = entry): void {
  runtime.counters?.countEntry(entry);
  for (const listener of runtime.listeners) {
    callUnawaited(
      () => listener(entry),
      (error) => {
        // An error about an error is only counted: a listener that always rejects would cause entries without end.
        if (entry.type === 'internal-error') runtime.errors++;
        else countError(runtime, 'listener', error);
      },
    );
  }
  // The log of the agent's own process is not redacted.
  if (runtime.logLevel !== 'silent')
    printLine(runtime, formatLogLine({ ...entry, ...body } as Entry, runtime.logLevel, readLastError(runtime, entry)));
}

/** The last error of a breaker that has opened, as far as this process saw it. */
function readLastError({ breakers }: Runtime, entry: Entry): string | undefined {
  const text = entry.type === 'breaker-opened' ? breakers.get(entry.key)?.lastError : undefined;
  return text ? showError(text) : undefined;
}

function printLine(runtime: Runtime, line: string | undefined): void {
  if (line === undefined) return;
  callUnawaited(
    () => runtime.print(line),
    () => runtime.errors++, // An error of the log is only counted.
  );
}

/** Prints a line about the set-up of a gear, which only the log level `debug` has. */
export function printDebug(runtime: Runtime, text: string): void {
  if (runtime.logLevel === 'debug') printLine(runtime, cleanLine(`${ours}${text}`));
}

/** Counts a swallowed error and writes an entry. */
export function countError(runtime: Runtime, where: string, error: unknown): void {
  runtime.errors++;
  if (runtime.isReportingError) return; // Do not report an error of a listener about its own error.
  runtime.isReportingError = true;
  try {
    appendEntry(runtime, { type: 'internal-error', where, message: errorMessage(error), code: 'internal_error' });
  } finally {
    runtime.isReportingError = false;
  }
}

const forgottenReports = new WeakMap<Runtime, Set<string>>();

/** Reports once that counts which may still matter were forgotten, because the memory of this process is bounded. */
export function reportForgotten(runtime: Runtime, counts: string): void {
  const reported = forgottenReports.get(runtime) ?? new Set();
  if (reported.has(counts)) return;
  forgottenReports.set(runtime, reported.add(counts));
  const reason = `too many names: the oldest ${counts} in the memory of this process are forgotten; use a shared store`;
  appendEntry(runtime, { type: 'store-degraded', reason });
}

export function addListener(runtime: Runtime, listener: JournalListener): () => void {
  fn('a listener', listener);
  if (runtime.listeners.length >= listenersMax) {
    throw new SwitchgearError(
      'too_many_listeners',
      `at most ${listenersMax} listeners can be added: remove one with the function that onEntry returned`,
    );
  }
  runtime.listeners = [...runtime.listeners, listener];
  return () => {
    runtime.listeners = runtime.listeners.filter((other) => other !== listener);
  };
}

/** The message of any thrown value. */
export function errorMessage(error: unknown): string {
  return textOf(error, { characters: errorMessageMax });
}
