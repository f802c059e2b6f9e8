/** Answers a card with a verb of the inbox: approve, decline, retry, narrow, pause, replan or dismiss. */

import type { Card, CardAction } from '../core/card.ts';
import { SwitchgearError } from '../core/error.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import type { Operator, OperatorRequest } from './authorize.ts';
import { answerQuestion, findAbandonedRun } from './cards.ts';
import { type FollowUpResult, followUpOnRun, type RunFollowUp } from './run-follow-up.ts';

/** The verbs of the inbox. */
export const inboxVerbs = ['approve', 'decline', 'retry', 'narrow', 'pause', 'replan', 'dismiss'] as const;

/** The lifetimes of an approval. */
export const approvalLifetimes = ['once', 'run', 'always'] as const;

/** A lifetime of an approval. */
export type ApprovalLifetime = (typeof approvalLifetimes)[number];

/** An answer to a card. */
export interface InboxAnswer {
  readonly verb: (typeof inboxVerbs)[number];
  /** How long an approval holds; `once` by default. */
  readonly lifetime?: ApprovalLifetime | undefined;
  /** The arguments in place of those of the call that asks, as JSON; for one call only. */
  readonly editedArgs?: string | undefined;
  /** The smaller request of `narrow`, or the words for a new plan of `replan`. */
  readonly request?: string | undefined;
}

const approvalActions: Readonly<Record<ApprovalLifetime, CardAction>> = {
  once: 'approve',
  run: 'approve_run',
  always: 'approve_always',
};

/** The card action of an approval or a denial. */
export function questionActionOf(lifetime: ApprovalLifetime | 'decline'): CardAction {
  return lifetime === 'decline' ? 'decline' : approvalActions[lifetime];
}

/** What a verb needs of the person who answers: only declining and pausing tighten. */
export function effectOfVerb(verb: InboxAnswer['verb']): OperatorRequest['effect'] {
  return verb === 'decline' || verb === 'pause' ? 'tighten' : 'loosen';
}

/** The effect of an answer on the process that asked. */
export interface AnswerEffect {
  readonly card: Card;
  readonly status: 'answered' | Exclude<FollowUpResult['status'], 'to-resume'>;
  /** The card with which a paused run is resumed. */
  readonly pausedCard?: Card;
  /** The chain run that nobody runs now: it continues on `switchgear chain resume`. */
  readonly abandonedRun?: string;
}

/**
 * Answers the card whose id has this prefix. Throws `needs_terminal` if the answer would start an agent again, which
 * only a command in a terminal does.
 */
export async function answerFromInbox(
  store: CrossProcessStore,
  idPrefix: string,
  answer: InboxAnswer,
  operator: Operator,
): Promise<AnswerEffect> {
  const { verb, lifetime = 'once', editedArgs } = answer;
  if (editedArgs !== undefined && (verb !== 'approve' || lifetime !== 'once'))
    throw new SwitchgearError(
      'invalid_argument',
      'edited arguments approve one call: the answer must be approve, once',
    );
  if (verb === 'approve' || verb === 'decline') {
    const approval = editedArgs === undefined ? questionActionOf(lifetime) : 'approve_edited';
    const action = verb === 'approve' ? approval : questionActionOf('decline');
    const card = await answerQuestion(store, idPrefix, action, operator, editedArgs);
    const run = await findAbandonedRun(store, card);
    return { card, status: 'answered', ...(run && { abandonedRun: run.id }) };
  }
  const result = await followUpOnRun(store, idPrefix, makeFollowUp(verb, answer.request), operator, false);
  const { card, status } = result;
  if (status === 'to-resume') throw new SwitchgearError('needs_terminal', 'the run must be resumed in a terminal');
  const pausedCard = status === 'paused' ? result.pausedCard : undefined;
  return { card, status, ...(pausedCard && { pausedCard }) };
}

/** The follow-up of a verb; throws `invalid_argument` without the request that `narrow` needs. */
export function makeFollowUp(verb: RunFollowUp['action'], request: string | undefined): RunFollowUp {
  const prompt = request?.trim();
  switch (verb) {
    case 'narrow':
      if (!prompt) throw new SwitchgearError('invalid_argument', 'narrow needs a smaller request');
      return { action: 'narrow', prompt };
    case 'replan':
      return prompt ? { action: 'replan', prompt } : { action: 'replan' };
    case 'retry':
    case 'pause':
    case 'dismiss':
      return { action: verb };
  }
}
