/** A paused run: nothing of it runs, no time of it passes, and a card is open for as long as it waits. */

import type { Card } from '../../core/card.ts';
import type { Store } from '../../ports/store.ts';
import { keepRun, type RunRecord } from '../../supervisor/run-record.ts';
import { actionsFor, type Choices } from './halt-report.ts';

export function pauseRun(store: Store, record: RunRecord, can: Choices): Card {
  const card = pausedCard(record, can);
  store.putCard(card);
  keepRun(store, { ...record, state: 'paused', card: card.id });
  return card;
}

function pausedCard({ task, agent, carried }: RunRecord, can: Choices): Card {
  const why = carried?.stop === undefined ? '' : `, after ${carried.stop.code.replaceAll('_', ' ')}`;
  return {
    id: `card-paused-${task}`,
    kind: 'halt',
    task,
    code: carried?.stop?.code ?? 'notice',
    counters: carried?.stop?.counters ?? {},
    evidence: [`${agent} is paused${why}: nothing of it runs, and it waits until somebody has it go on`],
    actions: actionsFor(can).filter((action) => action !== 'pause'),
    state: 'open',
  };
}
