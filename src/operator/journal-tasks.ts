/** The tasks of all processes, as the journal tells of them: begun, and not ended. For those that no process shows. */

import type { Entry } from '../core/event.ts';
import { patienceMaxMs } from '../core/limits.ts';

export interface JournalTask {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent?: string;
  /** `lost`: it is past its longest duration and nobody said how it ended, so its process is gone. */
  readonly state: 'running' | 'paused' | 'halted' | 'lost';
  readonly startedWallMs: number;
  readonly ageMs: number;
  /** Why it was halted. */
  readonly halt?: { readonly code: string; readonly message: string };
}

interface TaskDraft {
  readonly start: Extract<Entry, { readonly type: 'task-started' }>;
  stops: number;
  /** How long it stood still, and since when. */
  pausedMs: number;
  stoppedMs: number;
  halt: JournalTask['halt'] | undefined;
}

/** @param atMs The store's time now. */
export function readJournalTasks(entries: readonly Entry[], atMs: number): readonly JournalTask[] {
  const drafts = new Map<string, TaskDraft>();
  for (const entry of entries) {
    const id = entry.task;
    if (id === undefined) continue;
    if (entry.type === 'task-started') {
      drafts.set(id, { start: entry, stops: 0, pausedMs: 0, stoppedMs: 0, halt: undefined });
      continue;
    }
    const draft = drafts.get(id);
    if (draft === undefined) continue;
    if (entry.type === 'task-ended') drafts.delete(id);
    else if (entry.type === 'task-halted' && entry.enforced) {
      draft.halt = { code: entry.stop.code, message: entry.message };
    } else if (entry.type === 'task-stopped') {
      if (draft.stops++ === 0) draft.stoppedMs = entry.atMs;
    } else if (entry.type === 'task-resumed' && draft.stops > 0) {
      if (--draft.stops === 0) draft.pausedMs += entry.atMs - draft.stoppedMs;
    }
  }
  return [...drafts.values()].map((draft) => finishDraft(draft, atMs));
}

function finishDraft({ start, stops, pausedMs, halt }: TaskDraft, atMs: number): JournalTask {
  const { task: id = '', agent = '', session = '', parent, limits, wallMs: startedWallMs } = start;
  const ageMs = Math.max(0, Math.round(atMs - start.atMs));
  // A call without a timeout may keep its process from looking; past that, somebody would have ended it.
  const isLost = stops === 0 && ageMs - pausedMs > limits.maxDurationSecs * 1000 + patienceMaxMs;
  const state = halt !== undefined ? 'halted' : isLost ? 'lost' : stops > 0 ? 'paused' : 'running';
  return { id, agent, session, ...(parent && { parent }), state, startedWallMs, ageMs, ...(halt && { halt }) };
}
