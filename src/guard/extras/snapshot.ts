/** Everything as it is now. */

import type { Snapshot } from '../api.ts';
import { snapshotBreaker } from '../breakers/breaker-registry.ts';
import { workerCell } from '../route/call-site.ts';
import { observes, type Works } from '../runtime/runtime.ts';
import { snapshotTask } from '../tasks/task-tree.ts';

export function snapshotOf(works: Works): Snapshot {
  const { clock, tasks, breakers, store, errors } = works;
  const atMs = clock.nowMs();
  return {
    atMs,
    mode: observes(works) ? 'observe' : 'enforce',
    tasks: [...tasks.values()].map((task) => snapshotTask(works, task, atMs)),
    breakers: [...breakers.values()].map((entry) => snapshotBreaker(works, entry, atMs)),
    delegations: delegationsOf(works),
    cards: store.cards(),
    internalErrors: errors,
  };
}

/** Failed delegations, by session and worker. */
function delegationsOf(works: Works): Record<string, Record<string, number>> {
  const found: Record<string, Record<string, number>> = {};
  for (const key of works.store.keys()) {
    const [kind, session = '', worker = ''] = key.split('/').map(decodeURIComponent);
    if (kind !== 'worker') continue;
    const { failures } = workerCell(works, session, worker).state;
    if (failures > 0) found[session] = { ...found[session], [worker]: failures };
  }
  return found;
}
