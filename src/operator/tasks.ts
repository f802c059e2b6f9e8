/** The tasks of all processes on a store: those that they show, and those that only the journal tells of. */

import type { CrossProcessStore } from '../cli/store-option.ts';
import type { Card } from '../core/card.ts';
import { microsPerCent } from '../core/controls/budget/budget.ts';
import type { EntryBody } from '../core/event.ts';
import { journalEntriesMax, leaseMs, lostKeepMs } from '../core/limits.ts';
import { type LiveTask, livePrefix, type Owner, ownerPrefix } from '../ports/published-tasks.ts';
import type { CellUpdate, Change } from '../ports/store.ts';
import { type RunRecord, runsIn } from '../supervisor/run-record.ts';
import { newest } from './journal.ts';
import { type JournalTask, tasksIn } from './journal-tasks.ts';

/** Tasks and owners that a command looks at. */
const shownMax = 10_000;

export interface KnownTask extends JournalTask {
  /** What it has used and may use; absent where only the journal knows of it. */
  readonly used?: {
    readonly toolCalls: number;
    readonly maxToolCalls: number;
    readonly spendCents: number;
    readonly maxSpendCents: number;
    readonly tokens: number;
  };
}

/** All of them, the oldest first. A task whose process is gone is closed as lost, once, with a card. */
export async function knownTasks(store: CrossProcessStore): Promise<readonly KnownTask[]> {
  const { shared, clock } = store;
  const live = await shared.read(livePrefix, shownMax);
  const owners = new Map((await shared.read(ownerPrefix, shownMax)).map(({ key, state }) => [key, state as Owner]));
  // What became of a run that nobody watches any more was said with the run.
  const isOver = ({ state }: RunRecord) => state !== 'running' && state !== 'waiting';
  const over = new Set((await runsIn(store)).filter(isOver).map(({ task }) => task));
  const atMs = clock.nowMs();
  const shown: KnownTask[] = [];
  const tasks = live.flatMap(({ key, state }) => {
    const task = state as LiveTask | null;
    return typeof task?.owner === 'string' ? [{ key, task }] : [];
  });
  // In full, before milliseconds are shown without their fractions: two may begin in the same one.
  tasks.sort((one, other) => one.task.startedAtMs - other.task.startedAtMs);
  for (const { key, task } of tasks) {
    const isGone = !((owners.get(ownerPrefix + encodeURIComponent(task.owner))?.untilMs ?? 0) > atMs);
    const isLost = task.state === 'lost' || (isGone && (await close(store, key, task, over.has(task.id), atMs)));
    shown.push(knownTask(isLost ? { ...task, state: 'lost' } : task, atMs));
  }
  const ids = new Set(shown.map(({ id }) => id));
  const told = tasksIn(await newest(shared, journalEntriesMax), atMs).filter(({ id }) => !ids.has(id));
  return [...shown, ...told].toSorted((one, other) => one.startedWallMs - other.startedWallMs);
}

function knownTask(task: LiveTask, atMs: number): KnownTask {
  const { id, agent, session, parent, state, startedAtMs, startedWallMs, halt, limits, calls, tokens, micros } = task;
  return {
    id,
    agent,
    session,
    ...(parent !== undefined && { parent }),
    state,
    startedWallMs: Math.round(startedWallMs),
    ageMs: Math.max(0, Math.round(atMs - startedAtMs)),
    ...(halt && { halt }),
    used: {
      toolCalls: calls,
      maxToolCalls: limits.maxToolCalls,
      spendCents: micros / microsPerCent,
      maxSpendCents: limits.maxSpendCents,
      tokens,
    },
  };
}

/** Closes a task as lost and says so, unless somebody was faster; one below another goes without a card of its own. */
async function close(
  store: CrossProcessStore,
  key: string,
  task: LiveTask,
  isTold: boolean,
  atMs: number,
): Promise<boolean> {
  const { id, agent, session, owner, parent } = task;
  const cell = store.cell<LiveTask | null>(key, () => null, { keepMs: lostKeepMs });
  const card = isTold || parent !== undefined ? undefined : cardOf(task);
  const place = { task: id, session, agent };
  const bodies: readonly EntryBody[] = [
    ...(isTold ? [] : [{ type: 'task-ended', how: 'lost' } as const]),
    ...(card === undefined ? [] : [{ type: 'card-changed', card } as const]),
  ];
  const update = (stored: LiveTask | null): CellUpdate<LiveTask | null> => {
    if (stored === null || stored.owner !== owner || stored.state === 'lost') return 'refuse';
    return { state: { ...stored, state: 'lost' }, entries: bodies.map((body) => ({ body, place, atMs })) };
  };
  const result = await store.shared.commit({ changes: [{ cell, update } as unknown as Change] });
  if (result.status === 'committed' && card !== undefined) {
    store.putCard(card);
    await store.shared.settled();
  }
  return result.status === 'committed' || cell.state?.state === 'lost';
}

/** The same card whoever finds it. */
function cardOf({ id, agent, owner, calls, limits, micros }: LiveTask): Card {
  const spent = micros > 0 ? `, $${(micros / microsPerCent / 100).toFixed(2)}` : '';
  const used = `${calls} of ${limits.maxToolCalls} tool calls${spent}`;
  return {
    id: `card-lost-${owner}-${id}`,
    kind: 'notice',
    task: id,
    code: 'notice',
    counters: { actual: calls, limit: limits.maxToolCalls },
    evidence: [`${agent}: its process is gone, nothing was heard of it for ${leaseMs / 1000} s; it had used ${used}`],
    actions: ['dismiss'],
    state: 'open',
  };
}
