/** Reports the programs that an agent left running: one line, the event `run-ended`, and a card if they worked on. */

import type { Card } from '../../core/card.ts';
import { formatCount } from '../../operator/format.ts';
import { formatProcesses, type LeftBehind } from '../../supervisor/left-behind.ts';
import type { Attempt } from './attempt.ts';
import type { RunCommandContext } from './context.ts';

/** The programs as `run-ended` shows them. */
export function describeLeftBehind(leftBehind: LeftBehind | undefined): readonly object[] {
  return (leftBehind?.processes ?? []).map(({ pid, name }) => ({ pid, name, how: leftBehind!.how }));
}

export function reportLeftBehind(context: RunCommandContext, { end, task, record }: Attempt): void {
  if (end.how !== 'ended' || end.leftBehind === undefined) return;
  const { gear, store, screen, emit } = context;
  const { leftBehind, limit } = end;
  // The halt of a limit concerns the remaining programs; the agent itself cannot be continued.
  for (const { id, task: owner, kind, state } of gear.snapshot().cards)
    if (owner === task && kind === 'halt' && state === 'open') gear.cards.answer(id, 'dismiss', 'switchgear run');
  const count = formatCount(leftBehind.processes.length, 'program');
  const names = formatProcesses(leftBehind.processes);
  const cause = limit === undefined ? '' : ` (${limit})`;
  if (leftBehind.how === 'left') screen.printLine(`switchgear: the agent ended and left ${count} running: ${names}`);
  if (leftBehind.how === 'ended')
    screen.printLine(`switchgear: ended ${count} that the agent left running${cause}: ${names}`);
  if (leftBehind.how !== 'ended' || !leftBehind.worked || store.shared === undefined) return;
  const card: Card = {
    id: `card-left-${task}`,
    kind: 'notice',
    task,
    code: 'notice',
    counters: { processes: leftBehind.processes.length },
    evidence: [`${record.agent} ended and left ${count} running that worked on; ended${cause}: ${names}`],
    actions: ['dismiss'],
    state: 'open',
  };
  store.putCard(card);
  const place = { task, session: record.session, agent: record.agent };
  store.append({ type: 'card-changed', card }, place, store.clock.nowMs());
  emit('card', { type: 'notice', card });
}
