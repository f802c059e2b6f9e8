/** A paused run: nothing of it runs, no time of it passes, and a card is open for as long as it waits. */

import type { Card } from '../../core/card.ts';
import type { Store } from '../../ports/store.ts';
import { type RunRecord, writeRun } from '../../supervisor/run-record.ts';
import { cardActionsFor, type HaltChoices } from './halt-report.ts';

export function pauseRun(store: Store, record: RunRecord, choices: HaltChoices): Card {
  const card = makePausedCard(record, choices);
  store.putCard(card);
  writeRun(store, { ...record, state: 'paused', card: card.id });
  return card;
}

function makePausedCard({ task, agent, carried }: RunRecord, choices: HaltChoices): Card {
  const reason = carried?.stop === undefined ? '' : `, after ${carried.stop.code.replaceAll('_', ' ')}`;
  return {
    id: `card-paused-${task}`,
    kind: 'halt',
    task,
    code: carried?.stop?.code ?? 'notice',
    counters: carried?.stop?.counters ?? {},
    evidence: [`${agent} is paused${reason}: nothing of it runs, and it waits until somebody has it go on`],
    actions: cardActionsFor(choices).filter((action) => action !== 'pause'),
    state: 'open',
  };
}
