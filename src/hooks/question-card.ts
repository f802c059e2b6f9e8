/**
 * A question to a person that outlives its hook: one card for each task, tool, set of arguments and rules. The same
 * call, made again, finds the card and its answer.
 */

import { questionTriesMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import {
  digestApproval,
  makeQuestionCard,
  openCard,
  type Runtime,
  shortDigest,
  showInput,
  type TaskState,
  updateCard,
} from '../guard/internal.ts';

/** The person who approved, the refusal, or the open card. */
export type QuestionResult =
  | { readonly by: string }
  | { readonly refusalCode: 'rule_declined' | 'rule_unanswered' }
  | { readonly open: string };

/** Asks a person through a card: opens it, or reads the answer to the card that an earlier hook opened. */
export function askByCard(
  runtime: Runtime,
  task: TaskState,
  tool: string,
  args: readonly unknown[],
  stop: Stop,
): QuestionResult {
  const { store, clock, settings } = runtime;
  const atMs = clock.nowMs();
  const digest = digestApproval(store, { tool, task: task.id, args, stop });
  if (digest === undefined) return { refusalCode: 'rule_unanswered' };
  const question = { task: task.id, title: `${task.agent} wants to call ${tool}`, digest };
  for (let tries = 1; tries <= questionTriesMax; tries++) {
    const id = `hook-${shortDigest(digest)}-${tries}`;
    const card = store.card(id);
    if (card === undefined) {
      const input = showInput(args, settings.approval.redact);
      openCard(runtime, makeQuestionCard(runtime, id, stop, question, atMs), task, atMs, input);
      return { open: id };
    }
    if (card.digest !== digest) continue; // The card is for other arguments whose digest begins alike.
    if (card.state === 'used') continue; // An earlier call used this card; a card approves one call.
    const isPast = card.expiresAtMs !== undefined && atMs >= card.expiresAtMs;
    if (card.state === 'expired') continue;
    if (isPast) {
      updateCard(runtime, id, { type: 'card-expired', atMs });
      return { refusalCode: 'rule_unanswered' };
    }
    if (card.state === 'open') return { open: id };
    updateCard(runtime, id, { type: 'card-used', atMs });
    return card.answer === 'approve' ? { by: card.by ?? 'somebody' } : { refusalCode: 'rule_declined' };
  }
  return { refusalCode: 'rule_unanswered' };
}
