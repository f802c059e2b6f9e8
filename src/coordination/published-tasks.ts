/** Publishes the tasks of a gear to other processes: at once when a task halts or pauses, else with each sweep. */

import { cellKey } from '../core/cell-key.ts';
import {
  leaseMs,
  ownerKeepMs,
  publishedKeepMs,
  publishedSignsMs,
  publishedTasksMax,
  publishedWritesMax,
  reasonLengthMax,
} from '../core/limits.ts';
import {
  type LiveTask,
  livePrefix,
  ownerPrefix,
  type ProcessLiveness,
  type PublishedGear,
  type PublishedTask,
  type TaskPublisher,
} from '../ports/published-tasks.ts';

/** Creates the publisher of a gear's tasks. */
export function publishTasks(gear: PublishedGear): TaskPublisher {
  const { tasks, store, clock } = gear;
  const shared = store.shared!;
  const { process } = shared;
  /** The last published progress of each task, by task id. */
  const published = new Map<string, string>();
  /** Ended tasks whose cells are not dropped yet. */
  const ended = new Set<string>();
  let renewedMs = Number.NEGATIVE_INFINITY;
  let turn = 0;
  const keyOf = (id: string) => livePrefix + cellKey(process, id);

  async function writeCell(key: string, state: LiveTask | ProcessLiveness, keepMs: number): Promise<boolean> {
    const cell = store.cell(key, () => state, { keepMs });
    return (await shared.commit({ changes: [{ cell, update: () => ({ state }) }] })).status === 'committed';
  }

  /** Writes a task if its progress changed; returns whether the task was written. */
  function publish(task: PublishedTask | undefined, atMs: number): boolean {
    const mark = task && summarizeProgress(task);
    if (!task || published.get(task.id) === mark || (published.size >= publishedTasksMax && !published.has(task.id)))
      return false;
    const { id } = task;
    renewOwnership(atMs);
    published.set(id, mark!);
    void writeCell(keyOf(id), makeLiveTask(task, gear, process, atMs), publishedKeepMs).then((isCommitted) => {
      if (!published.has(id)) dropEnded(id);
      else if (!isCommitted) published.set(id, ''); // The next sweep retries.
    });
    return true;
  }

  /** Renews the lease of this process once a third of the lease has passed. */
  function renewOwnership(atMs: number): void {
    if (atMs - renewedMs < leaseMs / 3) return;
    renewedMs = atMs;
    const liveness = { untilMs: atMs + leaseMs, layer: gear.layer };
    void writeCell(ownerPrefix + cellKey(process), liveness, ownerKeepMs).then((isCommitted) => {
      if (!isCommitted) renewedMs = Number.NEGATIVE_INFINITY;
    });
  }

  function dropEnded(id?: string): void {
    if (id !== undefined) ended.add(id);
    if (shared.health.state === 'degraded') return; // Retried when the store has recovered.
    for (const each of ended) if (!published.has(each)) store.drop(keyOf(each));
    ended.clear();
  }

  return {
    onEntry({ type, task = '' }) {
      if (type === 'task-halted' || type === 'task-stopped' || type === 'task-resumed') {
        queueMicrotask(() => publish(tasks.get(task), clock.nowMs())); // After all listeners have run.
      } else if (type === 'task-ended' && published.delete(task)) dropEnded(task);
      else if (type === 'store-recovered') dropEnded();
    },
    sweep(atMs) {
      if (tasks.size > 0) renewOwnership(atMs);
      const all = [...tasks.values()];
      // If more tasks change than one sweep may write, the next sweep goes on with the rest.
      for (let at = 0, writes = 0; at < all.length && writes < publishedWritesMax; at++) {
        if (publish(all[++turn % all.length], atMs)) writes++;
      }
    },
  };
}

/**
 * Returns a text that differs whenever the task has something new to publish. Signs of life without another change
 * are published every 10 seconds, so that the idle time of a task is known to that precision.
 */
function summarizeProgress({ cells, halt }: PublishedTask): string {
  const { calls, tokens, micros, raises } = cells.budget.state;
  const { stops, out, signAtMs } = cells.deadline.state;
  const signs = Math.floor(signAtMs / publishedSignsMs);
  return `${calls} ${tokens} ${micros} ${raises} ${stops > 0} ${out > 0} ${signs} ${halt?.code}`;
}

function makeLiveTask(task: PublishedTask, { layer, clock }: PublishedGear, owner: string, atMs: number): LiveTask {
  const { id, agent, session, parent, limits, halt, cells } = task;
  const { calls, tokens, micros, raised } = cells.budget.state;
  const clocks = cells.deadline.state;
  const { startedAtMs, stops } = clocks;
  return {
    id,
    agent,
    session,
    ...(parent && { parent: parent.id }),
    owner,
    layer,
    state: halt ? 'halted' : stops > 0 ? 'paused' : 'running',
    startedAtMs,
    startedWallMs: clock.wallMs() - (atMs - startedAtMs),
    calls,
    tokens,
    micros,
    limits: { ...limits, ...raised },
    clocks: { ...clocks },
    ...(halt && { halt: { code: halt.code, message: halt.explanation.slice(0, reasonLengthMax) } }),
  };
}
