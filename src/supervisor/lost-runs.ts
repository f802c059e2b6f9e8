/** Runs whose supervisor was killed: whoever looks next closes their tasks as lost, and opens a card that says so. */

import type { Card } from '../core/card.ts';
import { agentRunsMax } from '../core/limits.ts';
import { type LiveTask, livePrefix } from '../ports/published-tasks.ts';
import type { Store } from '../ports/store.ts';
import { isAlive, type RunRecord, readRuns, transitionRun } from './run-record.ts';

/** The cards of runs that were found lost just now. */
export async function closeLostRuns(store: Store): Promise<readonly Card[]> {
  const cards: Card[] = [];
  for (const run of await readRuns(store)) {
    if (isAlive(run.owner)) continue;
    // One that waited for an answer has a card already, which asks the same.
    if (run.state === 'waiting') await transitionRun(store, run.task, 'waiting', { state: 'halted' });
    else if (run.state === 'running') cards.push(...(await closeLostRun(store, run)));
  }
  return cards;
}

async function closeLostRun(store: Store, { task, session, agent }: RunRecord): Promise<readonly Card[]> {
  const id = `card-lost-${task}`;
  const isFirst = await transitionRun(store, task, 'running', { state: 'lost', card: id });
  if (!isFirst) return []; // Somebody else saw it, too.
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

/** The task of a run and its subagents, as their process showed them last: there is nobody who would take that back. */
async function findPublishedTasks({ shared }: Store, task: string) {
  const stored = (await shared?.read(livePrefix, agentRunsMax)) ?? [];
  return stored.flatMap(({ key, state }) => {
    const { id, agent } = (state ?? {}) as Partial<LiveTask>;
    return id === task || id?.startsWith(`${task}/`) ? [{ key, id, agent: agent ?? '' }] : [];
  });
}
