/** Decides how a halted, paused or lost agent run continues: retry, narrow, pause, replan or dismiss. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { AnswerWords } from '../chains/run/approval/stored-card.ts';
import { type Card, type CardAction, describeOtherAnswers } from '../core/card.ts';
import { SwitchgearError } from '../core/error.ts';
import { cardKeepMs, shownInputMax } from '../core/limits.ts';
import { makeInputChanges, requestId } from '../guard/internal.ts';
import type { Change, CrossProcessStore, Store } from '../ports/store.ts';
import { deleteRun, isAlive, makePromptChange, type RunRecord, readRuns, writeRun } from '../supervisor/run-record.ts';
import type { Operator } from './authorize.ts';
import { answerInStore, describeEarlierAnswer, findCard, formatAction } from './cards.ts';
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
  words: AnswerWords = {},
): Promise<FollowUpResult> {
  const found = await findCard(store, idPrefix);
  const run = await findRunOf(store, found);
  const card = store.card(found.id) ?? found; // The run that ends now has added its actions.
  const { action } = followUp;
  if (run === undefined) return recordAnswer(store, card, followUp, operator, words);
  const isAwaited = run.state === 'waiting' && isAlive(run.owner);
  if (!isAwaited && !canResume && (action === 'retry' || action === 'narrow')) throw needsTerminalError(card, action);
  // The waiting process reads the new request from the record as soon as it sees the answer.
  const hasPrompt = isAwaited && 'prompt' in followUp && followUp.prompt !== undefined;
  const together = hasPrompt ? [makePromptChange(store, run.task, followUp.prompt)] : [];
  const answeredCard = await answerRunCard(store, card, cardActions[action], operator, together, words);
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

/** The stored run of a card. A run that ends its agent after the halt is waited for: then it has its card. */
async function findRunOf(store: CrossProcessStore, { id, task, kind, state }: Card): Promise<RunRecord | undefined> {
  const isEnding = ({ task: root, state: runState, owner }: RunRecord) =>
    kind === 'halt' &&
    state === 'open' &&
    runState === 'running' &&
    (task === root || task.startsWith(`${root}/`)) &&
    isAlive(owner);
  for (let waitedMs = 0; ; waitedMs += endingPollMs) {
    const runs = await readRuns(store);
    const run = runs.find((each) => each.card === id);
    if (run !== undefined || waitedMs >= endingPatienceMs || !runs.some(isEnding)) return run;
    await sleep(endingPollMs);
  }
}

/** How long an answer waits for a run that still ends its agent, and how often it looks. */
const endingPatienceMs = 5_000;
const endingPollMs = 50;

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
  words: AnswerWords,
): Promise<FollowUpResult> {
  const { action } = followUp;
  const request = 'prompt' in followUp ? followUp.prompt?.slice(0, shownInputMax) : undefined;
  // The waiting program reads the request as soon as it sees the answer.
  const together = request === undefined ? [] : makeInputChanges(store, requestId(card.id), request, cardKeepMs);
  const answeredCard = await answerRunCard(store, card, cardActions[action], operator, together, words);
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
  words: AnswerWords = {},
): Promise<Card> {
  const { status, card: answeredCard } = await answerInStore(store, card, action, operator, together, words);
  if (status === 'taken' && answeredCard !== undefined) return answeredCard;
  throw new SwitchgearError(
    'not_answered',
    answeredCard?.answer === undefined
      ? sanitizeText(
          describeOtherAnswers(answeredCard ?? { ...card, actions: [] }, action, formatAction) ??
            `${card.id} has expired`,
        )
      : describeEarlierAnswer(answeredCard),
  );
}

/** Marks a run as paused and opens a card with which a person resumes it. */
export function pauseRun(store: Store, record: RunRecord, choices: HaltChoices): Card {
  const halted = record.card === undefined ? undefined : store.card(record.card);
  const card = { ...makePausedCard(record, choices, halted), openedWallMs: store.clock.wallMs() };
  const { task, session, agent } = record;
  store.putCard(card);
  store.append({ type: 'card-changed', card }, { task, session, agent }, store.clock.nowMs());
  writeRun(store, { ...record, state: 'paused', card: card.id });
  return card;
}

function makePausedCard({ task, agent, carried }: RunRecord, choices: HaltChoices, halted: Card | undefined): Card {
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
    agent,
    ...(halted?.counts && { counts: halted.counts }),
    ...(halted?.raise && { raise: halted.raise }),
  };
}
