/** Learns from the journal when cards were opened and answered, and what their tasks did last. */

import type { Entry, EntryType } from '../../core/event.ts';
import { journalEntriesMax } from '../../core/limits.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { describeEntry } from '../format-entry.ts';
import { findLastSeq, readJournalEntries } from '../journal.ts';

/** The wall times of a card. */
export interface CardTimes {
  readonly openedWallMs: number;
  readonly answeredWallMs?: number;
}

/** An event of a task in words. */
export interface TaskEvent {
  readonly seq: number;
  readonly wallMs: number;
  readonly type: EntryType;
  readonly words: string;
}

/** The task with which a halted one was started again, and its limits. */
export interface TaskRetry {
  readonly task: string;
  readonly limits: TaskSettings;
}

/** What the journal has about cards and their tasks. */
export interface CardHistory {
  /** The times of cards by id, for cards that have none themselves. */
  readonly times: ReadonlyMap<string, CardTimes>;
  /** The tasks that were started again, by the id of the halted task. */
  readonly retries: ReadonlyMap<string, TaskRetry>;
  /** The last events of a task, oldest first. */
  lastEvents(task: string): readonly TaskEvent[];
}

/** Events that a card shows of its task. */
const eventsShown = 5;
/** Tasks whose last events are remembered; the task that was silent longest is forgotten first. */
const tasksRemembered = 2_000;

/** Returns a function that reads the history; each call reads only new entries. */
export function createCardHistoryReader(
  { shared }: CrossProcessStore,
  onCardChanged: (id: string) => void = () => {},
): () => Promise<CardHistory> {
  const times = new Map<string, CardTimes>();
  const events = new Map<string, readonly Entry[]>();
  const retries = new Map<string, TaskRetry>();
  const history: CardHistory = {
    times,
    retries,
    lastEvents: (task) => (events.get(task) ?? []).map(toTaskEvent),
  };
  let last: number | undefined;
  let reading: Promise<CardHistory> | undefined;

  async function read(): Promise<CardHistory> {
    last ??= Math.max(0, (await findLastSeq(shared)) - journalEntriesMax);
    for (const entry of await readJournalEntries(shared, last + 1, journalEntriesMax)) {
      last = entry.seq;
      if (entry.type === 'card-changed') {
        learnTimes(entry.card.id, entry.card.state === 'open', entry.wallMs);
        onCardChanged(entry.card.id);
      } else if (entry.task !== undefined) remember(entry.task, entry);
      if (entry.type === 'task-started' && entry.retryOf !== undefined) {
        if (retries.size >= tasksRemembered) retries.delete(retries.keys().next().value!);
        retries.set(entry.retryOf, { task: entry.task ?? '', limits: entry.limits });
      }
    }
    return history;
  }

  function remember(task: string, entry: Entry): void {
    const before = events.get(task) ?? [];
    events.delete(task);
    events.set(task, [...before.slice(1 - eventsShown), entry]);
    if (events.size > tasksRemembered) events.delete(events.keys().next().value!);
  }

  function learnTimes(id: string, isOpen: boolean, wallMs: number): void {
    const before = times.get(id);
    if (isOpen) {
      if (before !== undefined && before.answeredWallMs === undefined) return; // An open card that changed.
      if (times.size >= journalEntriesMax) times.delete(times.keys().next().value!);
      times.set(id, { openedWallMs: wallMs });
    } else if (before !== undefined && before.answeredWallMs === undefined)
      times.set(id, { ...before, answeredWallMs: wallMs });
  }

  return () => {
    // While the journal cannot be read, the known history stays.
    reading ??= read()
      .catch(() => history)
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
}

function toTaskEvent(entry: Entry): TaskEvent {
  const { seq, wallMs, type } = entry;
  return { seq, wallMs, type, words: describeEntry(entry) ?? '' };
}
