/** Runs whose supervisor was killed: whoever looks next closes their tasks as lost, and opens a card that says so. */

import type { Card } from '../core/card.ts';
import type { Store } from '../ports/store.ts';
import { isAlive, type RunRecord, runsIn, turnRun } from './run-record.ts';

/** The cards of runs that were found lost just now. */
export async function closeLost(store: Store): Promise<readonly Card[]> {
  const orphans = (await runsIn(store)).filter(({ state, owner }) => isInHand(state) && !isAlive(owner));
  return orphans.flatMap((run) => close(store, run) ?? []);
}

function isInHand(state: RunRecord['state']): boolean {
  return state === 'running' || state === 'waiting';
}

function close(store: Store, { task, session, agent, state, card: asked }: RunRecord): Card | undefined {
  if (state === 'waiting') {
    turnRun(store, task, 'waiting', { state: 'halted' }); // Its card is still there, and asks the same.
    return undefined;
  }
  const id = asked ?? `card-lost-${task}`;
  if (!turnRun(store, task, 'running', { state: 'lost', card: id })) return undefined; // Somebody else saw it, too.
  const card: Card = {
    id,
    kind: 'notice',
    task,
    code: 'notice',
    counters: {},
    evidence: [
      `${agent}: its supervisor was killed or the machine went down; the agent was ended, its work is unfinished`,
    ],
    actions: ['retry_raised', 'narrow_scope', 'dismiss'],
    state: 'open',
  };
  const place = { task, session, agent };
  const atMs = store.clock.nowMs();
  store.append({ type: 'task-ended', how: 'lost' }, place, atMs);
  store.putCard(card);
  store.append({ type: 'card-changed', card }, place, atMs);
  return card;
}
