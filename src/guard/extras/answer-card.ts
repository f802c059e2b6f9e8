/** Answers cards, and makes the options that try a halted task again with its limit raised. */

import { type Card, type CardAction, cardActions } from '../../core/card.ts';
import { maxTreeCallsOf } from '../../core/controls/budget/budget.ts';
import { findCode } from '../../core/controls/registry.ts';
import { raisesMax } from '../../core/limits.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { TaskOptions } from '../api.ts';
import { choices, name } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { updateCard } from '../tasks/cards.ts';
import type { TaskState } from '../tasks/task.ts';

const isAnswer = choices(...cardActions);

/** Records the answer to a card and passes it to the call that waits for it; undefined if the id is unknown. */
export function answerCard(runtime: Runtime, card: string, answer: CardAction, by: string): Card | undefined {
  isAnswer('the answer', answer);
  name('the name of the person who answers', by);
  const answers = runtime.store.card(card)?.kind === 'ask' && (answer === 'approve' || answer === 'decline');
  if (answers) runtime.waiting.get(card)?.({ approved: answer === 'approve', by });
  return updateCard(runtime, card, { type: 'card-answered', atMs: runtime.clock.nowMs(), answer, by });
}

/**
 * Options that start a halted task again: the tripped limit doubled, its counters carried over, below the nearest
 * ancestor that still runs, whose budget it spends from.
 * Undefined if the task is not halted, or its limits were raised `raisesMax` times already.
 */
export function makeRetryOptions(runtime: Runtime, task: string): TaskOptions | undefined {
  const node = runtime.halted.get(task);
  if (node?.haltStop === undefined || node.raises >= raisesMax) return undefined;
  const { agent, session } = node;
  const { code, counters } = node.haltStop;
  // A joint budget belongs to several tasks, so one task cannot raise it.
  const limit = counters.scope === undefined ? findCode(code).raises : undefined;
  const limits = limit === undefined ? node.limits : { ...node.limits, [limit]: limitOf(node, limit) * 2 };
  return {
    agent,
    session,
    parent: runningAncestor(node)?.id ?? null,
    limits,
    retryOf: node.id,
    ...(node.isDelegated && { delegated: true }),
  } as TaskOptions;
}

/** The value of a limit that a task reached. */
function limitOf({ limits }: TaskState, limit: keyof TaskSettings): number {
  return limits[limit] ?? (limit === 'maxTreeCalls' ? maxTreeCallsOf(limits) : 1);
}

/** The nearest ancestor that has neither halted nor ended. */
function runningAncestor({ parent }: TaskState): TaskState | undefined {
  let above = parent;
  while (above !== undefined && (above.ended || above.haltStop !== undefined)) above = above.parent;
  return above;
}
