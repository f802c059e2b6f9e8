/** Reports the programs that an agent left running: one line, the event `run-ended`, and a card if they worked on. */

import type { Card } from '../../core/card.ts';
import { formatCount } from '../../operator/format.ts';
import { formatProcesses, type LeftBehind, type LeftProcess } from '../../supervisor/left-behind.ts';
import type { Attempt } from './attempt.ts';
import type { RunCommandContext } from './context.ts';

/** The programs as `run-ended` shows them. */
export function describeLeftBehind(leftBehind: LeftBehind | undefined): readonly object[] {
  return (leftBehind?.processes ?? []).map(({ pid, name, how }) => ({ pid, name, how }));
}

function sortProcesses({ processes }: LeftBehind) {
  const find = (how: LeftProcess['how']) => processes.filter((each) => each.how === how);
  return { ended: find('ended'), left: find('left') };
}

export function reportLeftBehind(context: RunCommandContext, { end, task, record }: Attempt): void {
  if (end.how !== 'ended' || end.leftBehind === undefined) return;
  const { gear, store, screen, emit } = context;
  const { leftBehind, limit } = end;
  // The halt of a limit concerns the remaining programs; the agent itself cannot be continued.
  for (const { id, task: owner, kind, state, actions } of gear.snapshot().cards)
    if (owner === task && kind === 'halt' && state === 'open' && actions.includes('dismiss'))
      gear.cards.answer(id, 'dismiss', 'switchgear run');
  const cause = limit === undefined ? '' : ` (${limit})`;
  const { ended, left } = sortProcesses(leftBehind);
  const name = (processes: readonly LeftProcess[]) => formatProcesses(processes);
  const count = (processes: readonly LeftProcess[]) => formatCount(processes.length, 'program');
  const isLeft = context.options.leftBehind === 'leave' || context.options.observe;
  if (ended.length > 0)
    screen.printLine(`switchgear: ended ${count(ended)} that the agent left running${cause}: ${name(ended)}`);
  if (left.length > 0 && isLeft)
    screen.printLine(`switchgear: the agent ended and left ${count(left)} running: ${name(left)}`);
  else if (left.length > 0)
    screen.printLine(`switchgear: could not end ${count(left)} that the agent left running${cause}: ${name(left)}`);
  const deservesCard = (ended.length > 0 && leftBehind.worked) || (left.length > 0 && !isLeft);
  if (!deservesCard || store.shared === undefined) return;
  const parts = [
    ended.length > 0 ? `ended${cause}: ${name(ended)}` : '',
    left.length > 0 ? `still running without limits: ${name(left)}` : '',
  ].filter((part) => part !== '');
  const all = formatCount(ended.length + left.length, 'program');
  const worked = leftBehind.worked ? ' that worked on' : '';
  const card: Card = {
    id: `card-left-${task}`,
    kind: 'notice',
    task,
    code: 'notice',
    counters: { processes: ended.length + left.length },
    evidence: [`${record.agent} ended and left ${all} running${worked}; ${parts.join('; ')}`],
    actions: ['dismiss'],
    state: 'open',
  };
  store.putCard(card);
  const place = { task, session: record.session, agent: record.agent };
  store.append({ type: 'card-changed', card }, place, store.clock.nowMs());
  emit('card', { type: 'notice', card });
}
