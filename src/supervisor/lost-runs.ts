/**
 * Closes the tasks of runs whose supervisor was killed as lost, and opens a card that says which of their processes
 * still run. Continues a supervisor that was suspended together with its watchdog.
 */

import type { Card } from '../core/card.ts';
import { agentRunsMax, lostKeepMs, treePollMs, watchdogGraceMs } from '../core/limits.ts';
import { systemClock, wait } from '../platform/system-clock.ts';
import { type LiveTask, livePrefix } from '../ports/published-tasks.ts';
import type { Store } from '../ports/store.ts';
import { type EndTreeResult, endTree } from './end-tree.ts';
import { formatProcesses, nameProcess } from './left-behind.ts';
import { findProcess, isSuspended, type ProcessInfo } from './process-table.ts';
import { type ProcessTree, processTree } from './process-tree.ts';
import { isHere, isSupervised, type RunRecord, readRuns, readStoredRun, transitionRun } from './run-record.ts';

/** Closes lost runs and returns their cards. Callers of one process at the same time get the same answer. */
export function closeLostRuns(store: Store): Promise<readonly Card[]> {
  const known = closing.get(store);
  if (known !== undefined) return known;
  const cards = closeAll(store).finally(() => closing.delete(store));
  closing.set(store, cards);
  return cards;
}

/** The closings under way: a page asks again before the watchdog of a lost run has ended its processes. */
const closing = new WeakMap<Store, Promise<readonly Card[]>>();

async function closeAll(store: Store): Promise<readonly Card[]> {
  const cards: Card[] = [];
  for (const run of await readRuns(store)) {
    if (isSupervised(run, store)) {
      if (run.state === 'running') continueSuspended(store, run);
      continue;
    }
    if (run.state === 'lost' && run.card !== undefined && store.card(run.card) === undefined) {
      // The process that closed the run was killed before it opened the card.
      cards.push(await openLostCard(store, run, run.card));
      continue;
    }
    // A run that waited for an answer already has a card.
    if (run.state === 'waiting') await transitionRun(store, run.task, 'waiting', { state: 'halted' });
    else if (run.state === 'running') cards.push(...(await closeLostRun(store, run)));
  }
  return cards;
}

/** Continues a supervisor that is suspended while its agent works, which its watchdog should have done; reports it. */
function continueSuspended(store: Store, run: RunRecord): void {
  const { owner, task, session, agent } = run;
  if (!isHere(owner) || findProcess(owner.pid)?.began !== owner.began || !isSuspended(owner.pid)) return;
  // Job control suspends the supervisor and its agent together.
  const working =
    openLostTree(run)
      ?.scan()
      .filter(({ pid }) => !isSuspended(pid)) ?? [];
  if (working.length === 0) return;
  process.kill(owner.pid, 'SIGCONT');
  const id = `card-suspended-${task}`;
  if (store.card(id) !== undefined) return;
  const names = formatProcesses(working.map(nameProcess));
  const card: Card = {
    ...{ id, kind: 'notice', task, code: 'notice', counters: { processes: working.length }, state: 'open' },
    ...{ agent, openedWallMs: store.clock.wallMs() },
    evidence: [
      `${agent}: its supervisor was suspended while the agent ran on without limits, and goes on now: ${names}`,
    ],
    actions: ['dismiss'],
  };
  store.putCard(card);
  store.append({ type: 'card-changed', card }, { task, session, agent }, store.clock.nowMs());
}

/** Ends the remaining processes of a lost run; returns undefined if the task is no lost run of this machine. */
export async function endLostRun(store: Store, task: string): Promise<EndTreeResult | undefined> {
  const run = await readStoredRun(store, task);
  const tree = run?.state === 'lost' ? openLostTree(run) : undefined;
  return tree && endTree(tree, systemClock, { signal: 'SIGTERM', graceMs: watchdogGraceMs });
}

async function closeLostRun(store: Store, run: RunRecord): Promise<readonly Card[]> {
  const id = `card-lost-${run.task}`;
  const isFirst = await transitionRun(store, run.task, 'running', { state: 'lost', card: id });
  return isFirst ? [await openLostCard(store, run, id)] : []; // Otherwise another process has closed the run.
}

async function openLostCard(store: Store, run: RunRecord, id: string): Promise<Card> {
  const { task, session, agent } = run;
  const published = await findPublishedTasks(store, task);
  for (const { key } of published) markLost(store, key);
  const remaining = await findRemaining(run);
  const card: Card = {
    id,
    kind: 'notice',
    task,
    code: 'notice',
    counters: remaining === undefined ? {} : { processes: remaining.length },
    evidence: describeLoss(run, remaining),
    actions: ['retry_raised', 'narrow_scope', 'dismiss'],
    state: 'open',
    ...{ agent, openedWallMs: store.clock.wallMs() },
  };
  const atMs = store.clock.nowMs();
  const end = { type: 'task-ended', how: 'lost' } as const;
  for (const below of published) {
    if (below.id !== task) store.append(end, { task: below.id, session, agent: below.agent }, atMs);
  }
  store.append(end, { task, session, agent }, atMs);
  store.putCard(card);
  store.append({ type: 'card-changed', card }, { task, session, agent }, atMs);
  return card;
}

/** Marks a published task as lost: lists of tasks show it with what it had used, for an hour. */
function markLost(store: Store, key: string): void {
  const cell = store.cell<LiveTask | null>(key, () => null, { keepMs: lostKeepMs });
  const update = (task: LiveTask | null) =>
    task === null ? ('refuse' as const) : { state: { ...task, state: 'lost' as const } };
  store.shared?.commitNow({ changes: [{ cell, update } as never], queueIfUnavailable: true });
}

/** The tree of a run without a supervisor; undefined if this machine cannot look it up. */
function openLostTree({ owner, mark, members = [], agentProcess }: RunRecord): ProcessTree | undefined {
  if (mark === undefined || !isHere(owner)) return undefined;
  const tree = processTree(mark, false);
  tree.addMembers(members);
  if (agentProcess !== undefined) tree.addMembers([[agentProcess.pid, agentProcess.began]]);
  return tree;
}

/** The processes of a lost run that still run; its watchdog gets time to end them. */
async function findRemaining(run: RunRecord): Promise<readonly ProcessInfo[] | undefined> {
  const tree = openLostTree(run);
  if (tree === undefined) return undefined;
  const untilMs = systemClock.nowMs() + 2 * watchdogGraceMs;
  for (;;) {
    const remaining = tree.scan();
    if (remaining.length === 0 || systemClock.nowMs() > untilMs) return remaining;
    await wait(systemClock, treePollMs);
  }
}

/** Says what was looked up, and no more. */
function describeLoss({ task, agent }: RunRecord, remaining: readonly ProcessInfo[] | undefined): readonly string[] {
  const cause = `${agent}: its supervisor was killed, or the machine went down`;
  if (remaining === undefined) return [`${cause}; whether its processes still run cannot be looked up here`];
  if (remaining.length === 0) return [`${cause}; none of its processes runs`];
  const names = formatProcesses(remaining.map(nameProcess));
  return [`${cause}; still running without limits: ${names}; end them with: switchgear halt ${task}`];
}

/**
 * The last published state of a run's task and its subagents; their process is gone, so it does not change any more.
 */
async function findPublishedTasks({ shared }: Store, task: string) {
  const stored = (await shared?.read(livePrefix, agentRunsMax)) ?? [];
  return stored.flatMap(({ key, state }) => {
    const { id, agent } = (state ?? {}) as Partial<LiveTask>;
    return id === task || id?.startsWith(`${task}/`) ? [{ key, id, agent: agent ?? '' }] : [];
  });
}
