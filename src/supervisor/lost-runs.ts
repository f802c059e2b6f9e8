/** Closes the tasks of runs whose supervisor was killed as lost, and opens a card. */

import type { Card } from '../core/card.ts';
import { agentRunsMax } from '../core/limits.ts';
import { type LiveTask, livePrefix } from '../ports/published-tasks.ts';
import type { Store } from '../ports/store.ts';
import { isAlive, type RunRecord, readRuns, transitionRun } from './run-record.ts';

/** Closes lost runs and returns their cards. */
export async function closeLostRuns(store: Store): Promise<readonly Card[]> {
  const cards: Card[] = [];
  for (const run of await readRuns(store)) {
    if (isAlive(run.owner)) continue;
    // A run that waited for an answer already has a card.
    if (run.state === 'waiting') await transitionRun(store, run.task, 'waiting', { state: 'halted' });
    else if (run.state === 'running') cards.push(...(await closeLostRun(store, run)));
  }
  return cards;
}

async function closeLostRun(store: Store, { task, session, agent }: RunRecord): Promise<readonly Card[]> {
  const id = `card-lost-${task}`;
  const isFirst = await transitionRun(store, task, 'running', { state: 'lost', card: id });
  if (!isFirst) return []; // Another process has closed the run.
  const card: Card = {
    id,
    kind: 'notice',
    task,
    code: 'notice',
    counters: {},
    evidence: [`${agent}: its supervisor was killed, or the machine went down; the agent was ended with it`],
    actions: ['retry_raised', 'narrow_scope', 'dismiss'],
    state: 'open',
  };
  const atMs = store.clock.nowMs();
  const end = { type: 'task-ended', how: 'lost' } as const;
  for (const published of await findPublishedTasks(store, task)) {
    store.drop(published.key);
    if (published.id !== task) store.append(end, { task: published.id, session, agent: published.agent }, atMs);
  }
  store.append(end, { task, session, agent }, atMs);
  store.putCard(card);
  store.append({ type: 'card-changed', card }, { task, session, agent }, atMs);
  return [card];
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
