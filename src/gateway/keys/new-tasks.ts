/** Counts the tasks that each client begins: more than 100 in an hour open a card, since ids are free to choose. */

import type { Card } from '../../core/card.ts';
import type { Runtime } from '../../guard/internal.ts';

const newTasksMax = 100;
const hourMs = 3_600_000;
/** Clients that a process without a shared store remembers. */
const clientsMax = 1_000;

/** Creates the function that learns of each new task, by its client and id. */
export function createNewTaskWatch(runtime: Pick<Runtime, 'store' | 'clock'>): (client: string, task: string) => void {
  const { store, clock } = runtime;
  const local = new Map<string, { readonly hour: number; count: number }>();

  function report(client: string, atMs: number): void {
    const id = `card-gateway-tasks-${client}-${Math.floor(atMs / hourMs)}`;
    if (store.card(id) !== undefined) return;
    const card: Card = {
      ...{ id, kind: 'notice', task: '', code: 'notice', counters: { limit: newTasksMax } },
      evidence: [
        `${client} began more than ${newTasksMax} tasks in an hour at the gateway, each with limits of its own; ` +
          'a budget of its key, or a joint budget of scope key or global, limits them together',
      ],
      actions: ['dismiss'],
      state: 'open',
    };
    store.putCard(card);
    store.append({ type: 'card-changed', card }, {}, atMs);
  }

  return (client, task) => {
    const atMs = clock.nowMs();
    const { shared } = store;
    if (shared !== undefined) {
      const mark = { key: `gateway-tasks/${client}.`, id: task, atMs, keepMs: hourMs, cap: newTasksMax + 1 };
      void shared.commit({ marks: [mark] }).then((result) => {
        const isOver = result.status === 'committed' && (result.windowCounts[0]?.count ?? 0) > newTasksMax;
        if (isOver) report(client, atMs);
      });
      return;
    }
    const hour = Math.floor(atMs / hourMs);
    const known = local.get(client);
    const entry = known?.hour === hour ? known : { hour, count: 0 };
    if (known === undefined && local.size >= clientsMax) local.delete(local.keys().next().value!);
    local.set(client, entry);
    if (++entry.count > newTasksMax) report(client, atMs);
  };
}
