/**
 * A question to a person that outlives its hook: one card for each task, tool, set of arguments and rules. The same
 * call, made again, finds the card and its answer.
 */

import { withNote } from '../core/card.ts';
import { questionTriesMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import {
  digestApproval,
  hookCardPrefix,
  makeQuestionCard,
  openCard,
  type Runtime,
  removeInput,
  requestId,
  shortDigest,
  showInput,
  type TaskState,
  updateCard,
} from '../guard/internal.ts';
import type { InputEdits, Payload } from './hosts/hook-event.ts';

/** The approval, the refusal, or the open card. */
export type QuestionResult =
  | ApprovedQuestion
  | { readonly refusalCode: 'rule_declined' | 'rule_unanswered'; readonly reason?: string }
  | { readonly open: string };

/** An approval, which holds for one call. */
export interface ApprovedQuestion {
  readonly by: string;
  readonly card: string;
  /** The stop that asked. */
  readonly stop: Stop;
  /** The input that the person put in place of that of the call, and the digest of the call with it. */
  readonly edit?: { readonly input: Payload; readonly digest: string };
}

/**
 * Marks approvals as used, once their call is decided: a card approves one call. Edited inputs are forgotten, but that
 * of the card with which the call runs.
 */
export function useApprovals(runtime: Runtime, approvals: readonly ApprovedQuestion[], runsWith?: string): void {
  const atMs = runtime.clock.nowMs();
  for (const { card, edit } of approvals) {
    updateCard(runtime, card, { type: 'card-used', atMs, digest: edit?.digest });
    if (edit !== undefined && card !== runsWith) removeInput(runtime.store, requestId(card));
  }
}

/** Asks a person through a card: opens it, or reads the answer to the card that an earlier hook opened. */
export async function askByCard(
  runtime: Runtime,
  task: TaskState,
  tool: string,
  args: readonly unknown[],
  stop: Stop,
  edits?: InputEdits,
  title = `${task.agent} wants to call ${tool}`,
): Promise<QuestionResult> {
  const { store, clock, settings } = runtime;
  const atMs = clock.nowMs();
  const digest = digestApproval(store, { tool, task: task.id, args, stop });
  if (digest === undefined) return { refusalCode: 'rule_unanswered' };
  const question = { task: task.id, title, digest, canEdit: edits !== undefined };
  for (let tries = 1; tries <= questionTriesMax; tries++) {
    const id = `${hookCardPrefix}${shortDigest(digest)}-${tries}`;
    const card = store.card(id);
    if (card === undefined) {
      if (edits !== undefined) (await import('./edited-input.ts')).rememberEditForm(runtime, id, args, edits);
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
    const approval = { by: card.by ?? 'somebody', card: id, stop };
    if (card.answer === 'approve') return approval;
    if (card.answer !== 'approve_edited') {
      updateCard(runtime, id, { type: 'card-used', atMs });
      const reason = withNote(stop.reason, approval.by, card.note);
      return { refusalCode: 'rule_declined', ...(reason !== undefined && { reason }) };
    }
    const { readEditedInput } = await import('./edited-input.ts');
    const edit = await readEditedInput(runtime, id, args, edits);
    const edited = 'input' in edit && digestApproval(store, { tool, task: task.id, args: [edit.input], stop });
    if ('input' in edit && typeof edited === 'string')
      return { ...approval, edit: { input: edit.input, digest: edited } };
    updateCard(runtime, id, { type: 'card-used', atMs });
    removeInput(store, requestId(id));
    const reason = 'reason' in edit ? edit.reason : 'it was approved with arguments that are too large';
    return { refusalCode: 'rule_unanswered', reason };
  }
  return { refusalCode: 'rule_unanswered' };
}
