/** Describes a store: its health, its journal, how full it is, and the processes and agents that report to it. */

import type { Entry } from '../core/event.ts';
import { publishedTasksMax } from '../core/limits.ts';
import { type LiveTask, livePrefix, ownerPrefix, type ProcessLiveness } from '../ports/published-tasks.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import { readGuardedAgents } from '../supervisor/guarded-agents.ts';
import { readRuns } from '../supervisor/run-record.ts';
import type { StoreAgent, StoreOutage, StoreProcess, StoreSummary } from './board/answers.ts';
import { findLastSeq } from './journal.ts';

const outagesMax = 20;
const agentNamesMax = 5;

/** Reads the summary of a store with this name. */
export async function readStoreSummary(
  store: CrossProcessStore,
  name: string,
  recentEntries: readonly Entry[] = [],
): Promise<StoreSummary> {
  const { shared, clock } = store;
  // The health says that the journal cannot be read.
  const [first] = await shared.entries(1, 1).catch(() => []);
  const last = await findLastSeq(shared).catch(() => 0);
  const size = (await shared.size?.()) ?? {};
  const processes = await readProcesses(store);
  const { agents } = await readGuardedAgents(store);
  return {
    store: name,
    health: shared.health,
    atMs: clock.nowMs(),
    journal: { first: first?.seq ?? 0, last },
    size,
    processes,
    agents: agents.flatMap(({ by, name: agent, id, process, isRunning }): readonly StoreAgent[] => {
      if (!isRunning || by === 'hidden') return [];
      return [{ by, name: agent, id, ...(process && { pid: process.pid }) }];
    }),
    outages: findOutages(recentEntries),
  };
}

async function readProcesses(store: CrossProcessStore): Promise<readonly StoreProcess[]> {
  const { shared, clock } = store;
  const runTasks = new Set((await readRuns(store)).map(({ task }) => task));
  const tasks = new Map<string, LiveTask[]>();
  for (const { state } of await shared.read(livePrefix, publishedTasksMax)) {
    const task = state as LiveTask | null;
    if (typeof task?.owner !== 'string' || task.state === 'lost') continue;
    const owned = tasks.get(task.owner);
    if (owned === undefined) tasks.set(task.owner, [task]);
    else owned.push(task);
  }
  const owners = await shared.read(ownerPrefix, publishedTasksMax);
  const atMs = clock.nowMs();
  return owners.flatMap(({ key, state }) => {
    const { untilMs, layer = 'library' } = (state ?? {}) as Partial<ProcessLiveness>;
    if (untilMs === undefined) return [];
    const id = key.slice(ownerPrefix.length);
    const owned = tasks.get(id) ?? [];
    const agents = [...new Set(owned.map(({ agent }) => agent))].slice(0, agentNamesMax);
    const kind = owned.some((task) => runTasks.has(task.id)) ? 'run' : layer;
    return [{ id, kind, untilMs, isAlive: untilMs > atMs, tasks: owned.length, agents }];
  });
}

function findOutages(entries: readonly Entry[]): readonly StoreOutage[] {
  const outages = entries.flatMap((entry): readonly StoreOutage[] => {
    if (entry.type !== 'store-degraded' && entry.type !== 'store-recovered') return [];
    const { wallMs, type, reason } = entry;
    return [{ wallMs, type, reason }];
  });
  return outages.slice(-outagesMax).toReversed();
}
