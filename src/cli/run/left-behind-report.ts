/** Reports the programs that an agent left running: one line, the event `run-ended`, and a card if they worked on. */

import { supervisorName } from '../../core/card.ts';
import { announceLeftBehind, type LeftBehind } from '../../supervisor/left-behind.ts';
import type { Attempt } from './attempt.ts';
import type { RunCommandContext } from './context.ts';

/** The programs as `run-ended` shows them. */
export function describeLeftBehind(leftBehind: LeftBehind | undefined): readonly object[] {
  return (leftBehind?.processes ?? []).map(({ pid, name, how }) => ({ pid, name, how }));
}

export function reportLeftBehind(context: RunCommandContext, { end, task, record }: Attempt): void {
  if (end.how !== 'ended' || end.leftBehind === undefined) return;
  const { gear, store, screen, emit } = context;
  const { leftBehind, limit } = end;
  // The halt of a limit concerns the remaining programs; the agent itself cannot be continued.
  for (const { id, task: owner, kind, state, actions } of gear.snapshot().cards)
    if (owner === task && kind === 'halt' && state === 'open' && actions.includes('dismiss'))
      gear.cards.answer(id, 'dismiss', supervisorName);
  const { lines, card: unopened } = announceLeftBehind(leftBehind, {
    noun: 'the agent',
    name: record.agent,
    task,
    cardId: `card-left-${task}`,
    limit,
  });
  for (const line of lines) screen.printLine(`switchgear: ${line}`);
  if (unopened === undefined || store.shared === undefined) return;
  const card = { ...unopened, openedWallMs: store.clock.wallMs() };
  store.putCard(card);
  const place = { task, session: record.session, agent: record.agent };
  store.append({ type: 'card-changed', card }, place, store.clock.nowMs());
  emit('card', { type: 'notice', card });
}
