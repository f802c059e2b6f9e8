/** The tasks of all processes on a store: those that they show, and those that only the journal tells of. */

import type { Card } from '../core/card.ts';
import { microsPerCent } from '../core/controls/budget/budget.ts';
import type { EntryBody } from '../core/event.ts';
import { journalEntriesMax, leaseMs, lostKeepMs } from '../core/limits.ts';
import { type LiveTask, livePrefix, ownerPrefix, type ProcessLiveness } from '../ports/published-tasks.ts';
import type { CellUpdate, Change, CrossProcessStore } from '../ports/store.ts';
import { type RunRecord, readRuns } from '../supervisor/run-record.ts';
import { readNewestEntries } from './journal.ts';
import { type JournalTask, readJournalTasks } from './journal-tasks.ts';

/** Tasks and owners that a command looks at. */
const tasksMax = 10_000;

export interface OperatorTask extends JournalTask {
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
export async function listTasks(store: CrossProcessStore): Promise<readonly OperatorTask[]> {
  const { shared, clock } = store;
  const live = await shared.read(livePrefix, tasksMax);
  const owners = new Map(
    (await shared.read(ownerPrefix, tasksMax)).map(({ key, state }) => [key, state as ProcessLiveness]),
  );
  // What became of a run that nobody watches any more was said with the run.
  const isOver = ({ state }: RunRecord) => state !== 'running' && state !== 'waiting';
  const endedRuns = new Set((await readRuns(store)).filter(isOver).map(({ task }) => task));
  const atMs = clock.nowMs();
  const publishedTasks: OperatorTask[] = [];
  const tasks = live.flatMap(({ key, state }) => {
    const task = state as LiveTask | null;
    return typeof task?.owner === 'string' ? [{ key, task }] : [];
  });
  // In full, before milliseconds are shown without their fractions: two may begin in the same one.
  tasks.sort((left, right) => left.task.startedAtMs - right.task.startedAtMs);
  for (const { key, task } of tasks) {
    const isGone = !((owners.get(ownerPrefix + encodeURIComponent(task.owner))?.untilMs ?? 0) > atMs);
    const isLost =
      task.state === 'lost' || (isGone && (await closeLostTask(store, key, task, endedRuns.has(task.id), atMs)));
    publishedTasks.push(makeOperatorTask(isLost ? { ...task, state: 'lost' } : task, atMs));
  }
  const ids = new Set(publishedTasks.map(({ id }) => id));
  const journalTasks = readJournalTasks(await readNewestEntries(shared, journalEntriesMax), atMs).filter(
    ({ id }) => !ids.has(id),
  );
  return [...publishedTasks, ...journalTasks].toSorted((left, right) => left.startedWallMs - right.startedWallMs);
}

function makeOperatorTask(task: LiveTask, atMs: number): OperatorTask {
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
async function closeLostTask(
  store: CrossProcessStore,
  key: string,
  task: LiveTask,
  isReported: boolean,
  atMs: number,
): Promise<boolean> {
  const { id, agent, session, owner, parent } = task;
  const cell = store.cell<LiveTask | null>(key, () => null, { keepMs: lostKeepMs });
  const card = isReported || parent !== undefined ? undefined : makeLostCard(task);
  const place = { task: id, session, agent };
  const bodies: readonly EntryBody[] = [
    ...(isReported ? [] : [{ type: 'task-ended', how: 'lost' } as const]),
    ...(card === undefined ? [] : [{ type: 'card-changed', card } as const]),
  ];
  const update = (current: LiveTask | null): CellUpdate<LiveTask | null> => {
    if (current === null || current.owner !== owner || current.state === 'lost') return 'refuse';
    return { state: { ...current, state: 'lost' }, entries: bodies.map((body) => ({ body, place, atMs })) };
  };
  const result = await store.shared.commit({ changes: [{ cell, update } as unknown as Change] });
  if (result.status === 'committed' && card !== undefined) {
    store.putCard(card);
    await store.shared.settled();
  }
  return result.status === 'committed' || cell.state?.state === 'lost';
}

/** The same card whoever finds it. */
function makeLostCard({ id, agent, owner, calls, limits, micros }: LiveTask): Card {
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
