/**
 * A question to a person that outlives its hook: one card for each task, tool and set of arguments. The same call,
 * made again, finds the card and its answer.
 */

import { questionTriesMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import {
  hashQuestion,
  makeQuestionCard,
  openCard,
  type Runtime,
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
  argsFingerprint: number,
  stop: Stop,
): QuestionResult {
  const { store, clock } = runtime;
  const atMs = clock.nowMs();
  const question = { task: task.id, title: `${task.agent} wants to call ${tool}` };
  const digest = hashQuestion(store.shared?.secret ?? '', [task.id, tool, argsFingerprint]);
  for (let tries = 1; tries <= questionTriesMax; tries++) {
    const id = `hook-${digest}-${tries}`;
    const card = store.card(id);
    if (card === undefined) {
      openCard(runtime, makeQuestionCard(runtime, id, stop, question, atMs), task, atMs);
      return { open: id };
    }
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
