/**
 * A question to a person that outlives its hook: one card for a task, a tool and its arguments. The call that comes
 * again unchanged finds it, with the answer that came meanwhile.
 */

import type { Card } from '../core/card.ts';
import { questionTriesMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import { appendEntry, entryPlace, keepsContent, type Runtime, type TaskState, updateCard } from '../guard/internal.ts';

/** Who approved it; the word against it; or the card that is open. */
export type QuestionResult =
  | { readonly by: string }
  | { readonly refusalCode: 'rule_declined' | 'rule_unanswered' }
  | { readonly open: string };

export function askByCard(
  runtime: Runtime,
  task: TaskState,
  tool: string,
  argsFingerprint: number,
  stop: Stop,
): QuestionResult {
  const { store, clock, settings } = runtime;
  const atMs = clock.nowMs();
  const idPrefix = makeIdPrefix(runtime, task, tool, argsFingerprint);
  for (let tries = 1; tries <= questionTriesMax; tries++) {
    const id = `${idPrefix}-${tries}`;
    const card = store.card(id);
    if (card === undefined) {
      const expiresAtMs = atMs + settings.approval.timeoutSecs * 1000;
      openCard(runtime, task, { ...describeQuestion(task, tool, stop), id, expiresAtMs }, atMs);
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

/** Nothing of what is asked about can be read from it, and equal questions have equal ones. */
function makeIdPrefix({ store }: Runtime, { id }: TaskState, tool: string, argsFingerprint: number): string {
  const key = store.shared?.secret ?? '';
  // Loaded where somebody is asked: it takes longer than a hook that asks nobody.
  const { createHmac } = process.getBuiltinModule('node:crypto');
  const digest = createHmac('sha256', key)
    .update(JSON.stringify([id, tool, argsFingerprint]))
    .digest('hex');
  return `hook-${digest.slice(0, 16)}`;
}

function describeQuestion(
  task: TaskState,
  tool: string,
  { code, counters, reason }: Stop,
): Omit<Card, 'id' | 'expiresAtMs'> {
  const evidence = [`${task.agent} wants to call ${tool}`, ...(reason === undefined ? [] : [reason])];
  return { kind: 'ask', task: task.id, code, counters, evidence, actions: ['approve', 'decline'], state: 'open' };
}

function openCard(runtime: Runtime, task: TaskState, card: Card, atMs: number): void {
  runtime.store.putCard(keepsContent(runtime) ? card : (runtime.rules?.redact(card) ?? card));
  appendEntry(runtime, { type: 'card-changed', card }, entryPlace(task), atMs);
}
