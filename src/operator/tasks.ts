/** Lists the tasks of all processes on a store: published tasks, and tasks known from the journal alone. */

import { isOver as isRunOver } from '../chains/run/state/transitions.ts';
import { listRuns, type RunSummary } from '../chains/run/storage/runs.ts';
import type { Card } from '../core/card.ts';
import { cellKey } from '../core/cell-key.ts';
import { microsPerCent } from '../core/controls/budget/budget.ts';
import { type DeadlineState, durationOf, idleOf } from '../core/controls/deadline.ts';
import type { Entry, EntryBody } from '../core/event.ts';
import { journalEntriesMax, leaseMs, lostKeepMs, patienceMaxMs, secsMax } from '../core/limits.ts';
import { formatUse } from '../core/quote.ts';
import type { FrozenTask } from '../guard/internal.ts';
import { type LiveTask, livePrefix, ownerPrefix, type ProcessLiveness } from '../ports/published-tasks.ts';
import type { Change, CrossProcessStore } from '../ports/store.ts';
import { type RunRecord, readRuns } from '../supervisor/run-record.ts';
import type { JournalTask, OperatorTask, TaskUsage } from './board/answers.ts';
import { readNewestIfPossible } from './journal.ts';

/** The most tasks, and the most processes, that one call reads. */
const tasksMax = 10_000;

/** Lists all tasks, oldest first, and closes tasks whose process is gone: once per task, with a card. */
export async function listTasks(
  store: CrossProcessStore,
  readEntries = () => readNewestIfPossible(store.shared, journalEntriesMax),
): Promise<readonly OperatorTask[]> {
  const { shared, clock } = store;
  const live = await shared.read(livePrefix, tasksMax);
  const owners = new Map(
    (await shared.read(ownerPrefix, tasksMax)).map(({ key, state }) => [key, state as ProcessLiveness]),
  );
  // The end of such a run was reported with the run.
  const isOver = ({ state }: RunRecord) => state !== 'running' && state !== 'waiting';
  const endedRuns = new Set((await readRuns(store)).filter(isOver).map(({ task }) => task));
  const atMs = clock.nowMs();
  const publishedTasks: OperatorTask[] = [];
  const tasks = live.flatMap(({ key, state }) => {
    const task = state as LiveTask | null;
    return typeof task?.owner === 'string' ? [{ key, task }] : [];
  });
  // Sorts by the unrounded time: two tasks may start in the same millisecond.
  tasks.sort((left, right) => left.task.startedAtMs - right.task.startedAtMs);
  for (const { key, task } of tasks) {
    const isGone = !((owners.get(ownerPrefix + cellKey(task.owner))?.untilMs ?? 0) > atMs);
    const isLost =
      task.state === 'lost' || (isGone && (await closeLostTask(store, key, task, endedRuns.has(task.id), atMs)));
    if (isLost && isSettled(store, task.id)) continue;
    publishedTasks.push(makeOperatorTask(isLost ? { ...task, state: 'lost' } : task, atMs));
  }
  const ids = new Set(publishedTasks.map(({ id }) => id));
  const unpublished = readJournalTasks(await readEntries(), atMs).filter(({ id }) => !ids.has(id));
  const journalTasks = unpublished.length === 0 ? [] : judgeByRuns(unpublished, await listRuns(store), atMs);
  const hookUsages = journalTasks.length === 0 ? new Map<string, TaskUsage>() : await readHookUsages(store, atMs);
  const others = journalTasks.map((task): OperatorTask => {
    const used = hookUsages.get(task.id);
    return used === undefined ? task : { ...task, used };
  });
  // By age, which both kinds measure alike: a Redis store gives journal entries the wall time at which they were sent.
  return [...publishedTasks, ...others].toSorted((left, right) => right.ageMs - left.ageMs);
}

/** Whether a person has answered the card of a lost run, of which this is the task or one below it. */
function isSettled(store: CrossProcessStore, id: string): boolean {
  const [root = id] = id.split('/', 1);
  return store.card(`card-lost-${root}`)?.answer !== undefined;
}

/** The usage of tasks that only hooks work on: their state is stored between two hooks. */
async function readHookUsages({ shared }: CrossProcessStore, atMs: number): Promise<Map<string, TaskUsage>> {
  const usages = new Map<string, TaskUsage>();
  for (const { state } of await shared.read(hookPrefix, tasksMax)) {
    const frozen = (state as { readonly frozen?: FrozenTask } | null)?.frozen;
    const budget = frozen?.cells?.budget?.state;
    if (frozen === undefined || budget === undefined) continue; // A cell of a session.
    const limits = { ...frozen.limits, ...budget.raised };
    usages.set(frozen.id, measureUsage({ ...budget, limits, clocks: frozen.cells.deadline?.state }, atMs));
  }
  return usages;
}

/** The key prefix of the cells of hooked sessions. */
const hookPrefix = 'hook/';

function makeOperatorTask(task: LiveTask, atMs: number): OperatorTask {
  const { id, agent, session, parent, state, startedAtMs, startedWallMs, halt, owner } = task;
  return {
    id,
    agent,
    session,
    ...(parent !== undefined && { parent }),
    state,
    startedWallMs: Math.round(startedWallMs),
    ageMs: Math.max(0, Math.round(atMs - startedAtMs)),
    ...(halt && { halt }),
    used: measureUsage(task, atMs),
    owner,
  };
}

type MeasuredTask = Pick<LiveTask, 'calls' | 'tokens' | 'micros' | 'limits'> & {
  readonly clocks?: DeadlineState | undefined;
  readonly state?: LiveTask['state'];
};

function measureUsage({ calls, tokens, micros, limits, clocks, state }: MeasuredTask, atMs: number): TaskUsage {
  const { maxToolCalls, maxSpendCents, maxTokens, maxDurationSecs, maxIdleSecs } = limits;
  // The clocks of a task that is over do not run on.
  const isRunning = state === undefined || state === 'running' || state === 'paused';
  const untilMs = isRunning ? atMs : (clocks?.signAtMs ?? atMs);
  return {
    toolCalls: calls,
    maxToolCalls,
    spendCents: micros / microsPerCent,
    maxSpendCents,
    tokens,
    ...(maxTokens !== undefined && { maxTokens }),
    ...(clocks !== undefined && {
      durationMs: Math.round(durationOf(clocks, untilMs)),
      idleMs: isRunning ? Math.round(idleOf(clocks, untilMs)) : 0,
    }),
    // The longest times are those of sessions that a person attends.
    ...(maxDurationSecs < secsMax && { maxDurationSecs }),
    ...(maxIdleSecs < secsMax && { maxIdleSecs }),
  };
}

/** Closes a task as lost, unless another process did; a task with a parent gets no card of its own. */
async function closeLostTask(
  store: CrossProcessStore,
  key: string,
  task: LiveTask,
  isReported: boolean,
  atMs: number,
): Promise<boolean> {
  const { id, agent, session, owner, parent } = task;
  const cell = store.cell<LiveTask | null>(key, () => null, { keepMs: lostKeepMs });
  const lost = isReported || parent !== undefined ? undefined : makeLostCard(task, store.clock.wallMs());
  // The tasks of a gateway share a card.
  const card = lost && store.card(lost.id) === undefined ? lost : undefined;
  const place = { task: id, session, agent };
  const bodies: readonly EntryBody[] = [
    ...(isReported ? [] : [{ type: 'task-ended', how: 'lost' } as const]),
    ...(card === undefined ? [] : [{ type: 'card-changed', card } as const]),
  ];
  const change: Change<LiveTask | null> = {
    cell,
    update(current) {
      if (current === null || current.owner !== owner || current.state === 'lost') return 'refuse';
      return { state: { ...current, state: 'lost' }, entries: bodies.map((body) => ({ body, place, atMs })) };
    },
  };
  const result = await store.shared.commit({ changes: [change as Change] });
  if (result.status === 'committed' && card !== undefined) {
    store.putCard(card);
    await store.shared.settled();
  }
  return result.status === 'committed' || cell.state?.state === 'lost';
}

/** The card has the same id in every process, so it exists once. */
function makeLostCard(task: LiveTask, openedWallMs: number): Card {
  const { id, agent, owner, layer, calls, limits, micros } = task;
  if (layer === 'gateway') return makeLostGatewayCard(owner, openedWallMs);
  const spent = micros > 0 ? `, $${(micros / microsPerCent / 100).toFixed(2)}` : '';
  const used = `${formatUse(calls, limits.maxToolCalls)} tool calls${spent}`;
  return {
    id: `card-lost-${owner}-${id}`,
    kind: 'notice',
    task: id,
    code: 'notice',
    counters: { actual: calls, limit: limits.maxToolCalls },
    evidence: [`${agent}: its process is gone, nothing was heard of it for ${leaseMs / 1000} s; it had used ${used}`],
    actions: ['dismiss'],
    state: 'open',
    agent,
    openedWallMs,
  };
}

/** A gateway may have thousands of tasks, none of which is lost with it. */
function makeLostGatewayCard(owner: string, openedWallMs: number): Card {
  return {
    ...{ id: `card-lost-${owner}`, kind: 'notice', task: '', code: 'notice', counters: {} },
    evidence: [
      `a gateway is gone: nothing was heard of its process for ${leaseMs / 1000} s; its tasks go on in the next one`,
    ],
    ...{ actions: ['dismiss'], state: 'open', openedWallMs },
  };
}

interface TaskDraft {
  readonly start: Extract<Entry, { readonly type: 'task-started' }>;
  stops: number;
  /** Total time of finished pauses. */
  pausedMs: number;
  /** Start of the current pause. */
  stoppedMs: number;
  halt: JournalTask['halt'] | undefined;
}

/**
 * Replays journal entries into the tasks that started and did not end.
 * @param atMs The current time of the store.
 */
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

/**
 * Takes the state of the tasks of chain runs from their runs: a task that no process works on is lost, and one whose
 * run is over has ended, though its process could not write so.
 */
export function judgeByRuns(
  tasks: readonly JournalTask[],
  runs: readonly Pick<RunSummary, 'id' | 'status' | 'owner'>[],
  atMs: number,
): readonly JournalTask[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  return tasks.flatMap((task): readonly JournalTask[] => {
    const [root = task.id] = task.id.split('/', 1);
    const run = byId.get(task.id) ?? byId.get(root);
    if (run === undefined || task.state === 'halted') return [task];
    if (isRunOver(run)) return [];
    return run.owner !== undefined && run.owner.untilMs > atMs ? [task] : [{ ...task, state: 'lost' }];
  });
}

function finishDraft({ start, stops, pausedMs, halt }: TaskDraft, atMs: number): JournalTask {
  const { task: id = '', agent = '', session = '', parent, limits, wallMs: startedWallMs } = start;
  const ageMs = Math.max(0, Math.round(atMs - start.atMs));
  // A call without a timeout delays the sweep of its process by at most `patienceMaxMs`.
  const isLost = stops === 0 && ageMs - pausedMs > limits.maxDurationSecs * 1000 + patienceMaxMs;
  const state = halt !== undefined ? 'halted' : isLost ? 'lost' : stops > 0 ? 'paused' : 'running';
  return { id, agent, session, ...(parent && { parent }), state, startedWallMs, ageMs, ...(halt && { halt }) };
}
