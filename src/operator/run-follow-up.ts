/** Decides how a halted, paused or lost agent run continues: retry, narrow, pause, replan or dismiss. */

import { type Card, type CardAction, describeOtherAnswers } from '../core/card.ts';
import { SwitchgearError } from '../core/error.ts';
import { cardKeepMs, shownInputMax } from '../core/limits.ts';
import { makeInputChanges, requestId } from '../guard/internal.ts';
import type { Change, CrossProcessStore, Store } from '../ports/store.ts';
import { deleteRun, isAlive, makePromptChange, type RunRecord, readRuns, writeRun } from '../supervisor/run-record.ts';
import type { Operator } from './authorize.ts';
import { answerInStore, describeEarlierAnswer, findByIdPrefix, isOpen, readCards } from './cards.ts';
import { sanitizeText } from './format.ts';

/** A decision about a halted run. */
export type RunFollowUp =
  | { readonly action: 'retry' | 'pause' | 'dismiss' }
  | { readonly action: 'narrow'; readonly prompt: string }
  | { readonly action: 'replan'; readonly prompt?: string };

/** The follow-ups that a halted run offers besides pause, replan and dismiss. */
export interface HaltChoices {
  readonly retry: boolean;
  readonly narrow: boolean;
}

const cardActions = {
  retry: 'retry_raised',
  narrow: 'narrow_scope',
  pause: 'pause',
  replan: 'replan',
  dismiss: 'dismiss',
} as const;

/** The card actions of a halted run. */
export function cardActionsFor({ retry, narrow }: HaltChoices): readonly CardAction[] {
  return [
    ...(retry ? (['retry_raised'] as const) : []),
    ...(narrow ? (['narrow_scope'] as const) : []),
    'pause',
    'replan',
    'dismiss',
  ];
}

/** The effect of a follow-up. */
export type FollowUpResult = { readonly card: Card } & (
  | { readonly status: 'forwarded' } // The process that waits for the answer acts on it.
  | { readonly status: 'to-resume'; readonly run: RunRecord } // The caller resumes the run.
  | { readonly status: 'paused'; readonly pausedCard: Card | undefined }
  | { readonly status: 'replanned' | 'dismissed' }
  | { readonly status: 'recorded' } // The program that ran the task reads the answer.
);

/**
 * Answers the card of a run and pauses or deletes the run; the caller resumes the run if the result says so. A caller
 * that cannot gets the error `needs_terminal`, and the card stays open.
 */
export async function followUpOnRun(
  store: CrossProcessStore,
  idPrefix: string,
  followUp: RunFollowUp,
  operator: Operator,
  canResume = true,
): Promise<FollowUpResult> {
  const atMs = store.clock.nowMs();
  const card = findByIdPrefix(await readCards(store), idPrefix, 'card', (candidate) => isOpen(candidate, atMs));
  const run = (await readRuns(store)).find((each) => each.card === card.id);
  const { action } = followUp;
  if (run === undefined) return recordAnswer(store, card, followUp, operator);
  const isAwaited = run.state === 'waiting' && isAlive(run.owner);
  if (!isAwaited && !canResume && (action === 'retry' || action === 'narrow')) throw needsTerminalError(card, action);
  // The waiting process reads the new request from the record as soon as it sees the answer.
  const hasPrompt = isAwaited && 'prompt' in followUp && followUp.prompt !== undefined;
  const together = hasPrompt ? [makePromptChange(store, run.task, followUp.prompt)] : [];
  const answeredCard = await answerRunCard(store, card, cardActions[action], operator, together);
  await store.shared.settled();
  if (isAwaited) return { card: answeredCard, status: 'forwarded' };
  switch (action) {
    case 'retry':
    case 'narrow':
      return { card: answeredCard, status: 'to-resume', run };
    case 'pause':
      return { card: answeredCard, status: 'paused', pausedCard: pauseRun(store, run, findChoices(card)) };
    case 'replan':
    case 'dismiss':
      deleteRun(store, run.task);
      return { card: answeredCard, status: action === 'replan' ? 'replanned' : 'dismissed' };
  }
}

function needsTerminalError(card: Card, action: 'retry' | 'narrow'): SwitchgearError {
  const command = `switchgear inbox ${action} ${sanitizeText(card.id)}${action === 'narrow' ? ' "REQUEST"' : ''}`;
  return new SwitchgearError(
    'needs_terminal',
    card.state === 'open'
      ? `no process waits for this answer; start the agent again in a terminal: ${command}`
      : describeEarlierAnswer(card),
  );
}

/** Records the answer to a card that no stored run belongs to: the program that ran the task reads and acts on it. */
async function recordAnswer(
  store: CrossProcessStore,
  card: Card,
  followUp: RunFollowUp,
  operator: Operator,
): Promise<FollowUpResult> {
  const { action } = followUp;
  const request = 'prompt' in followUp ? followUp.prompt?.slice(0, shownInputMax) : undefined;
  // The waiting program reads the request as soon as it sees the answer.
  const together = request === undefined ? [] : makeInputChanges(store, requestId(card.id), request, cardKeepMs);
  const answeredCard = await answerRunCard(store, card, cardActions[action], operator, together);
  await store.shared.settled();
  return { card: answeredCard, status: action === 'dismiss' ? 'dismissed' : 'recorded' };
}

function findChoices({ actions }: Card): HaltChoices {
  return { retry: actions.includes('retry_raised'), narrow: actions.includes('narrow_scope') };
}

async function answerRunCard(
  store: CrossProcessStore,
  card: Card,
  action: CardAction,
  operator: Operator,
  together: readonly Change[] = [],
): Promise<Card> {
  const { status, card: answeredCard } = await answerInStore(store, card, action, operator, together);
  if (status === 'taken' && answeredCard !== undefined) return answeredCard;
  throw new SwitchgearError(
    'not_answered',
    answeredCard?.answer === undefined
      ? sanitizeText(describeOtherAnswers(answeredCard ?? { ...card, actions: [] }, action) ?? `${card.id} has expired`)
      : describeEarlierAnswer(answeredCard),
  );
}

/** Marks a run as paused and opens a card with which a person resumes it. */
export function pauseRun(store: Store, record: RunRecord, choices: HaltChoices): Card {
  const card = makePausedCard(record, choices);
  store.putCard(card);
  writeRun(store, { ...record, state: 'paused', card: card.id });
  return card;
}

function makePausedCard({ task, agent, carried }: RunRecord, choices: HaltChoices): Card {
  const reason = carried?.stop === undefined ? '' : ` after ${carried.stop.code.replaceAll('_', ' ')}`;
  return {
    id: `card-paused-${task}`,
    kind: 'halt',
    task,
    code: carried?.stop?.code ?? 'notice',
    counters: carried?.stop?.counters ?? {},
    evidence: [`${agent} is paused${reason}: its process has ended, and its clock is stopped until it is resumed`],
    actions: cardActionsFor(choices).filter((action) => action !== 'pause'),
    state: 'open',
  };
}
