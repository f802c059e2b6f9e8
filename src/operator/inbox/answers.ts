/** Answers cards with a verb of the inbox: approve, decline, retry, narrow, pause, replan or dismiss. */

import type { Card, CardAction } from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import { reasonLengthMax } from '../../core/limits.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import type { RunRecord } from '../../supervisor/run-record.ts';
import type { Operator, OperatorRequest } from '../authorize.ts';
import { answerQuestion, findAbandonedRun, findCard, readCards } from '../cards.ts';
import { sanitizeText } from '../format.ts';
import { type FollowUpResult, followUpOnRun, type RunFollowUp } from '../run-follow-up.ts';
import { type CardHistory, createCardHistoryReader } from './card-history.ts';
import { findEqualCards, readAwaitedCards } from './card-view.ts';
import { createEffectReader } from './effects.ts';

/** The verbs of the inbox. */
export const inboxVerbs = ['approve', 'decline', 'retry', 'narrow', 'pause', 'replan', 'dismiss'] as const;

/** The lifetimes of an approval. */
export const approvalLifetimes = ['once', 'run', 'always'] as const;

/** The most cards that one request decides. */
export const decidedCardsMax = 100;

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
  /** The new limit of `retry`, within the bounds of the card; the suggested one by default. */
  readonly limit?: number | undefined;
  /** Words that are kept with the answer; those of `decline` reach the agent. */
  readonly note?: string | undefined;
  /**
   * How many equal open cards the answer also decides. By default all equal questions of the same task, and no other
   * cards: equal ones of other tasks are decided only by a person who saw how many there are.
   */
  readonly equals?: number | undefined;
}

const approvalActions: Readonly<Record<ApprovalLifetime, CardAction>> = {
  once: 'approve',
  run: 'approve_run',
  always: 'approve_always',
};

/** What a verb needs of the person who answers: only declining and pausing tighten. */
export function effectOfVerb(verb: InboxAnswer['verb']): OperatorRequest['effect'] {
  return verb === 'decline' || verb === 'pause' ? 'tighten' : 'loosen';
}

/** The effect of an answer on the process that asked. */
export interface AnswerEffect {
  readonly card: Card;
  readonly status: 'answered' | FollowUpResult['status'];
  /** What the answer has done, as the store has it. */
  readonly sentence: string;
  /** How many equal cards were decided with it. */
  readonly released: number;
  /** The card with which a paused run is resumed. */
  readonly pausedCard?: Card;
  /** The chain run that nobody runs now: it continues on `switchgear chain resume`. */
  readonly abandonedRun?: string;
  /** The run that the caller starts again, with the status `to-resume`. */
  readonly run?: RunRecord;
}

/** How an answer is given. */
export interface AnswerOptions {
  /** Whether the caller can start an agent again, which only a command in a terminal does. */
  readonly canResume?: boolean;
  readonly readHistory?: () => Promise<CardHistory>;
  /** Reads the cards among which equal ones are looked for; each is decided as the store has it. */
  readonly readCards?: () => Promise<readonly Card[]>;
}

/**
 * Answers the card whose id has this prefix, and the cards that are equal to it. Throws `needs_terminal` if the answer
 * would start an agent again and the caller cannot.
 */
export async function answerFromInbox(
  store: CrossProcessStore,
  idPrefix: string,
  answer: InboxAnswer,
  operator: Operator,
  options: AnswerOptions = {},
): Promise<AnswerEffect> {
  const { canResume = false, readHistory = createCardHistoryReader(store) } = options;
  const { verb, lifetime = 'once', editedArgs } = answer;
  if (editedArgs !== undefined && (verb !== 'approve' || lifetime !== 'once'))
    throw new SwitchgearError(
      'invalid_argument',
      'edited arguments approve one call: the answer must be approve, once',
    );
  const found = await findCard(store, idPrefix);
  checkLimit(found, answer);
  const equals = await listEquals(store, found, answer, options);
  const decided = await decideCard(store, found.id, answer, operator, canResume);
  let released = 0;
  for (const each of equals) {
    try {
      checkLimit(each, answer);
      await decideCard(store, each.id, answer, operator, false);
      released++;
    } catch (error) {
      // Another person was faster, the card has expired, or its limit has other bounds.
      if (!(error instanceof SwitchgearError) || error.code === 'store_unreachable') throw error;
    }
  }
  const card = store.card(decided.card.id) ?? decided.card;
  const effect = await createEffectReader(store, await readHistory())(card);
  return { ...decided, card, released, sentence: formatEffect(effect?.sentence ?? '', found.kind, released) };
}

/** The result of a decision about one of several cards. */
export type DecisionResult =
  | { readonly id: string; readonly effect: AnswerEffect }
  | { readonly id: string; readonly error: { readonly code: string; readonly message: string } };

/** Decides about several cards, one after the other; a card that does not accept the answer stops no other one. */
export async function answerSeveral(
  store: CrossProcessStore,
  ids: readonly string[],
  answer: InboxAnswer,
  operator: Operator,
  options: AnswerOptions = {},
): Promise<readonly DecisionResult[]> {
  const results: DecisionResult[] = [];
  for (const id of new Set(ids)) {
    try {
      const effect = await answerFromInbox(store, id, answer, operator, options);
      results.push({ id, effect });
    } catch (error) {
      if (!(error instanceof SwitchgearError)) throw error;
      results.push({ id, error: { code: error.code, message: error.message } });
    }
  }
  return results;
}

/** Throws `invalid_argument` if the card cannot be tried again with this limit. */
function checkLimit({ id, raise }: Card, { verb, limit }: InboxAnswer): void {
  if (limit === undefined) return;
  if (verb !== 'retry') throw new SwitchgearError('invalid_argument', 'only retry takes a limit');
  if (raise === undefined)
    throw new SwitchgearError('invalid_argument', `${sanitizeText(id)} has no limit that a retry raises`);
  const { min, max, setting } = raise;
  if (Number.isSafeInteger(limit) && limit >= min && limit <= max) return;
  throw new SwitchgearError(
    'invalid_argument',
    `the limit must be a whole number from ${min}, which is more than is used, to ${max}, got ${limit}; ` +
      `a higher ${setting} needs a change of the policy`,
  );
}

async function listEquals(
  store: CrossProcessStore,
  card: Card,
  answer: InboxAnswer,
  { readCards: read = () => readCards(store) }: AnswerOptions,
): Promise<readonly Card[]> {
  const max = answer.editedArgs === undefined ? (answer.equals ?? (card.kind === 'ask' ? decidedCardsMax : 0)) : 0;
  if (max === 0 || (card.kind === 'ask' && card.digest === undefined)) return [];
  const isMeant = ({ task }: Card) => answer.equals !== undefined || task === card.task;
  return findEqualCards(await read(), card, store.clock.nowMs(), await readAwaitedCards(store))
    .filter(isMeant)
    .slice(0, max);
}

async function decideCard(
  store: CrossProcessStore,
  id: string,
  answer: InboxAnswer,
  operator: Operator,
  canResume: boolean,
): Promise<Omit<AnswerEffect, 'sentence' | 'released'>> {
  const { verb, lifetime = 'once', editedArgs, limit } = answer;
  const note = answer.note?.trim().slice(0, reasonLengthMax) || undefined;
  if (verb === 'approve' || verb === 'decline') {
    const approval = editedArgs === undefined ? approvalActions[lifetime] : 'approve_edited';
    const card = await answerQuestion(store, id, verb === 'approve' ? approval : 'decline', operator, editedArgs, {
      note,
    });
    const run = await findAbandonedRun(store, card);
    return { card, status: 'answered', ...(run && { abandonedRun: run.id }) };
  }
  const words = { note, raisedTo: limit };
  const result = await followUpOnRun(store, id, makeFollowUp(verb, answer.request), operator, canResume, words);
  const { card, status } = result;
  const pausedCard = status === 'paused' ? result.pausedCard : undefined;
  return { card, status, ...(pausedCard && { pausedCard }), ...(status === 'to-resume' && { run: result.run }) };
}

function formatEffect(sentence: string, kind: Card['kind'], released: number): string {
  if (released === 0) return sentence;
  const noun = kind === 'ask' ? 'equal question' : 'equal card';
  const verb = kind === 'ask' ? 'released' : 'decided';
  return `${sentence} ${released} ${noun}${released === 1 ? ' was' : 's were'} ${verb} with it.`;
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
