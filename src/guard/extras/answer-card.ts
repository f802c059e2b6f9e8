/** What a person does with a card or a halted task: answers it, or has it tried again with the tripped limit raised. */

import type { Card, CardAction } from '../../core/card.ts';
import { raisesMax } from '../../core/limits.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Code } from '../../core/verdict.ts';
import type { Switchgear, TaskOptions } from '../api.ts';
import { runtimeOf } from '../runtime/runtime.ts';
import { updateCard } from '../tasks/cards.ts';

/** Answers a card: approve or decline a question, pick up a halt. */
export function answerCard(gear: Switchgear, card: string, answer: CardAction, by: string): Card | undefined {
  const runtime = runtimeOf(gear);
  const answers = runtime.store.card(card)?.kind === 'ask' && (answer === 'approve' || answer === 'decline');
  if (answers) runtime.waiting.get(card)?.({ approved: answer === 'approve', by });
  return updateCard(runtime, card, { type: 'card-answered', atMs: runtime.clock.nowMs(), answer, by });
}

/** The limit that each code speaks of. */
const limitOf: { readonly [code in Code]?: keyof TaskSettings } = {
  tool_call_limit: 'maxToolCalls',
  token_spend_limit: 'maxSpendCents',
  token_limit: 'maxTokens',
  duration_limit: 'maxDurationSecs',
  idle_timeout: 'maxIdleSecs',
  denial_limit: 'maxDenials',
};

/**
 * The options to try a halted task with again: the tripped limit doubled, its counters carried on.
 * Undefined where it was not halted, or was raised too often.
 */
export function retryOptions(gear: Switchgear, task: string): TaskOptions | undefined {
  const node = runtimeOf(gear).halted.get(task);
  if (node?.haltStop === undefined || node.raises >= raisesMax) return undefined;
  const { agent, session } = node;
  const { code, counters } = node.haltStop;
  // A budget beyond the task is not its to raise.
  const limit = counters.scope === undefined ? limitOf[code] : undefined;
  const limits = limit === undefined ? node.limits : { ...node.limits, [limit]: (node.limits[limit] ?? 1) * 2 };
  return { agent, session, parent: null, limits, retryOf: node.id } as TaskOptions;
}
