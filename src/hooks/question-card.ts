/**
 * A question to a person that outlives its hook: one card for a task, a tool and its arguments. The call that comes
 * again unchanged finds it, with the answer that came meanwhile.
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

/** Who approved it; the word against it; or the card that is open. */
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
    if (card.state === 'used') continue; // An earlier call had it; a card is for one.
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
