/** Everything as it is now. */

import { snapshotBreaker } from './breakers.ts';
import type { Snapshot } from './front-door.ts';
import { snapshotTask } from './tasks.ts';
import type { Works } from './works.ts';

export function snapshotOf(works: Works): Snapshot {
  const { clock, tasks, breakers, store, notes, settings } = works;
  const atMs = clock.nowMs();
  return {
    atMs,
    mode: works.observes() ? 'observe' : 'enforce',
    tasks: [...tasks.all()].map((task) => snapshotTask(task, atMs)),
    breakers: [...breakers.all()].map((entry) => snapshotBreaker(entry, settings.alerts, atMs)),
    delegations: delegationsOf(works),
    cards: store.cards(),
    internalErrors: notes.errors,
  };
}

/** Failed delegations, by session and worker. */
function delegationsOf({ store, seating }: Works): Record<string, Record<string, number>> {
  const found: Record<string, Record<string, number>> = {};
  for (const key of store.keys()) {
    const [kind, session = '', worker = ''] = key.split('/').map(decodeURIComponent);
    if (kind !== 'worker') continue;
    const { failures } = seating.worker(session, worker).state;
    if (failures > 0) found[session] = { ...found[session], [worker]: failures };
  }
  return found;
}
