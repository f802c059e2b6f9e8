/** Makes the snapshot of a gear. */

import type { Snapshot } from '../api.ts';
import { snapshotBreaker } from '../breakers/breaker-registry.ts';
import { workerCell } from '../route/call-site.ts';
import { settleOwed } from '../route/stack-room.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';
import { snapshotTask } from '../tasks/task-tree.ts';

/** Tasks, breakers, failed delegations and cards of the gear now. */
export function makeSnapshot(runtime: Runtime): Snapshot {
  settleOwed();
  const { clock, tasks, breakers, store, errors } = runtime;
  const atMs = clock.nowMs();
  return {
    atMs,
    mode: isObserving(runtime) ? 'observe' : 'enforce',
    tasks: [...tasks.values()].map((task) => snapshotTask(runtime, task, atMs)),
    breakers: [...breakers.values()].map((entry) => snapshotBreaker(runtime, entry, atMs)),
    delegations: delegationsOf(runtime),
    cards: store.cards(),
    internalErrors: errors,
  };
}

/** Failed delegations, by session and worker. */
function delegationsOf(runtime: Runtime): Record<string, Record<string, number>> {
  const found: Record<string, Record<string, number>> = {};
  for (const key of runtime.store.keys()) {
    const [kind, session = '', worker = ''] = key.split('/').map(decodeURIComponent);
    if (kind !== 'worker') continue;
    const { failures } = workerCell(runtime, session, worker).state;
    if (failures > 0) found[session] = { ...found[session], [worker]: failures };
  }
  return found;
}
