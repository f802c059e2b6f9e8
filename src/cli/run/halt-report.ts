/** Reports a halt: one sentence, the counters, the evidence, the next step, and a card in the inbox. */

import type { Card, CardAction } from '../../core/card.ts';
import { findCode, listSettingsOf } from '../../core/controls/registry.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { TaskSnapshot } from '../../guard/api.ts';
import { cardActionsFor, type HaltChoices } from '../../operator/run-follow-up.ts';
import type { Attempt, AttemptEnd } from './attempt.ts';
import type { RunCommandContext } from './context.ts';
import { formatCounters } from './status-line.ts';

type HaltedAttempt = Attempt & { readonly end: Extract<AttemptEnd, { readonly how: 'halted' }> };

const mayHaveRunText = 'the call that was one too many may already have run';

function lastCallMayHaveRun({ end, wasRefused }: HaltedAttempt): boolean {
  return findCode(end.halt.code).byCall === true && !wasRefused;
}

/** Publishes the card of a halt with the possible follow-ups; undefined if there is no card. */
export function publishHaltCard({ store, gear }: RunCommandContext, halted: HaltedAttempt, choices: HaltChoices) {
  const { task, end } = halted;
  const { snapshot, limits } = halted.below ?? halted;
  const haltedTask = end.halt.task ?? task; // The halt of a subagent ends its run.
  const card = gear
    .snapshot()
    .cards.find((each) => each.task === haltedTask && each.kind === 'halt' && each.state === 'open');
  if (card === undefined) return undefined;
  const haltCard: Card = {
    ...card,
    // Lists show only the last sentence.
    evidence: [
      formatCounters(snapshot, limits),
      ...(lastCallMayHaveRun(halted) ? [mayHaveRunText] : []),
      end.halt.explanation,
    ],
    actions: cardActionsFor(choices),
  };
  store.putCard(haltCard);
  // Others learn from the journal which answers the card accepts now.
  const { session, agent } = halted.record;
  store.append({ type: 'card-changed', card: haltCard }, { task, session, agent }, store.clock.nowMs());
  return haltCard;
}

/** Prints the halt and the possible follow-ups to stderr. */
export function reportHalt(
  { screen }: RunCommandContext,
  attempt: HaltedAttempt,
  card: Card | undefined,
  isStored: boolean,
): void {
  const { end, evidence, record, below } = attempt;
  const { snapshot, limits } = below ?? attempt;
  const { ended, halt } = end;
  const name = below === undefined ? record.agent : `${record.agent} (${nameBelow(below.snapshot)})`;
  const killed = ended.killed > 0 ? `, ${ended.killed} of them by force` : '';
  const processes = ended.total === 1 ? '1 process was ended' : `${ended.total} processes were ended`;
  const how = ended.total === 0 ? 'the agent had already ended' : `${processes}${killed}`;
  screen.printLine(`switchgear: halted ${name}: ${halt.explanation}`);
  screen.printLine(`  ${formatCounters(snapshot, limits)}`);
  for (const sentence of evidence) screen.printLine(`  ${sentence}`);
  screen.printLine(`  ${how}${lastCallMayHaveRun(attempt) ? `; ${mayHaveRunText}` : ''}`);
  if (ended.surviving.length > 0) screen.printLine(`  these could not be ended: ${ended.surviving.join(', ')}`);
  const flag = findLimitFlag(halt.code);
  const settings = listSettingsOf(halt.code).join(' and ');
  if (flag !== undefined) screen.printLine(`  the limit is ${flag}, or ${settings} in a policy`);
  else if (settings !== '') screen.printLine(`  set by ${settings} in a policy`);
  if (halt.code === 'tool_call_limit') screen.printLine(`  ${codingHint}`);
  if (card !== undefined && isStored) screen.printLine(`  next: ${formatNextSteps(card)}`);
}

/** Runs of coding agents pass the default limit of calls. */
const codingHint = 'coding agents often need more: preset = "coding" (switchgear policy init --preset coding)';

/** The type of a subagent, or the name of a task that has none. */
function nameBelow({ id, agent }: TaskSnapshot): string {
  return agent === 'subagent' ? id.slice(id.indexOf('/') + 1) : agent;
}

/** The option of `run` that sets the limit of a code. */
export function findLimitFlag(code: string): string | undefined {
  const { raises } = findCode(code);
  return raises === undefined ? undefined : limitFlags[raises];
}

/** The options of `run` that set limits, by setting. */
export const limitFlags: { readonly [setting in keyof TaskSettings]?: string } = {
  maxToolCalls: '--max-calls',
  maxTreeCalls: '--max-tree-calls',
  maxSpendCents: '--max-spend',
  maxTokens: '--max-tokens',
  maxDurationSecs: '--max-duration',
  maxIdleSecs: '--max-idle',
};

/** The commands that continue the run later or from another terminal. */
export function formatNextSteps({ id, actions }: Card): string {
  const commands = actions.flatMap((action) => inboxVerbs[action] ?? []);
  return `switchgear inbox ${commands[0]} ${id}${commands.length > 1 ? `, or ${commands.slice(1).join(', ')}` : ''}`;
}

const inboxVerbs: { readonly [action in CardAction]?: string } = {
  retry_raised: 'retry',
  narrow_scope: 'narrow',
  pause: 'pause',
  replan: 'replan',
  dismiss: 'dismiss',
};
