/** A halt as it is told: one sentence, the counters, the evidence, the next step; and its card in the inbox. */

import type { Card, CardAction } from '../../core/card.ts';
import type { Attempt, End } from './attempt.ts';
import type { RunWorld } from './context.ts';
import { countersLine } from './status-line.ts';

type Halted = Attempt & { readonly end: Extract<End, { readonly how: 'halted' }> };

/** What can be done about this one. */
export interface Choices {
  readonly retry: boolean;
  readonly narrow: boolean;
}

const mayHaveRun = 'the call that was one too many may already have run';

/** Halts by a call, which was seen when it had begun. */
const byCall: ReadonlySet<string> = new Set(['tool_call_limit', 'tool_loop', 'rule_abort', 'denial_limit']);

function mayRun({ end, wasRefused }: Halted): boolean {
  return byCall.has(end.halt.code) && !wasRefused;
}

/** The card of the halt, with everything that can be done about a run; undefined where there is none. */
export function openHaltCard({ store, gear }: RunWorld, halted: Halted, can: Choices) {
  const { task, end, snapshot, limits } = halted;
  const whose = end.halt.task ?? task; // A subagent's halt ends the run that it is part of.
  const card = gear
    .snapshot()
    .cards.find((each) => each.task === whose && each.kind === 'halt' && each.state === 'open');
  if (card === undefined) return undefined;
  const told: Card = {
    ...card,
    // Lists show the last sentence.
    evidence: [countersLine(snapshot, limits), ...(mayRun(halted) ? [mayHaveRun] : []), end.halt.explanation],
    actions: actionsFor(can),
  };
  store.putCard(told);
  return told;
}

export function actionsFor({ retry, narrow }: Choices): readonly CardAction[] {
  return [
    ...(retry ? (['retry_raised'] as const) : []),
    ...(narrow ? (['narrow_scope'] as const) : []),
    'pause',
    'dismiss',
  ];
}

/** Says on stderr what happened and what can be done. */
export function tellHalt({ screen }: RunWorld, attempt: Halted, card: Card | undefined, isKept: boolean): void {
  const { end, snapshot, limits, evidence, record } = attempt;
  const { ended, halt } = end;
  const killed = ended.killed > 0 ? `, ${ended.killed} of them by force` : '';
  const processes = ended.met === 1 ? '1 process was' : `${ended.met} processes were`;
  screen.say(`switchgear: halted ${record.agent}: ${halt.explanation}`);
  screen.say(`  ${countersLine(snapshot, limits)}`);
  for (const sentence of evidence) screen.say(`  ${sentence}`);
  screen.say(`  ${processes} ended${killed}${mayRun(attempt) ? `; ${mayHaveRun}` : ''}`);
  if (ended.left.length > 0) screen.say(`  these could not be ended: ${ended.left.join(', ')}`);
  if (card !== undefined && isKept) screen.say(`  next: ${nextSteps(card)}`);
}

/** How to go on from another terminal, or later. */
export function nextSteps({ id, actions }: Card): string {
  const words = actions.flatMap((action) => verbs[action] ?? []);
  return `switchgear inbox ${words[0]} ${id}${words.length > 1 ? `, or ${words.slice(1).join(', ')}` : ''}`;
}

const verbs: { readonly [action in CardAction]?: string } = {
  retry_raised: 'retry',
  narrow_scope: 'narrow',
  pause: 'pause',
  dismiss: 'dismiss',
};
