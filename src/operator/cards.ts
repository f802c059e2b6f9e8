/** Reads, finds, describes and answers the cards of a store. */

import { type AnswerResult, type AnswerWords, answerStoredCard } from '../chains/run/approval/stored-card.ts';
import { isOwnerGone } from '../chains/run/ownership.ts';
import { createParamRestorer } from '../chains/run/parameter-redaction.ts';
import type { RunState } from '../chains/run/state/run-state.ts';
import { loadRun } from '../chains/run/storage/runs.ts';
import {
  type Card,
  type CardAction,
  describeOtherAnswers,
  isSnoozed,
  parseEditedArgs,
  type QuestionCard,
} from '../core/card.ts';
import { SwitchgearError } from '../core/error.ts';
import { cardKeepMs, journalEntriesMax } from '../core/limits.ts';
import { formatTimeSpan, quoteValue } from '../core/quote.ts';
import {
  describeUnfitEdit,
  makeInputChanges,
  readEditForm,
  readInput,
  removeEditForm,
  removeExpiredInputs,
  requestId,
  withInput,
} from '../guard/internal.ts';
import type { Change, CrossProcessStore } from '../ports/store.ts';
import type { Operator } from './authorize.ts';
import { sanitizeText, type TableCell } from './format.ts';
import { storeWriteError } from './orders.ts';

/** The commands that list what can be found by its id. */
const listHints: Readonly<Record<string, string>> = {
  card: ': switchgear inbox list --all shows them',
  'standing approval': ': switchgear inbox standing shows them',
};

/** The words with which an alert says that its cause is over. */
export const overText = 'Over since ';

/** The most candidates that an error message names. */
const candidatesShown = 5;

/** Reads all cards of a store; removes what the store still has of expired questions. */
export async function readCards(store: CrossProcessStore): Promise<readonly Card[]> {
  await removeExpiredInputs(store);
  const cells = await store.shared.read('card/', journalEntriesMax);
  return cells.flatMap(({ state }) => (state === null ? [] : [state as Card]));
}

/** Whether a card can still be answered. */
export function isOpen(card: Card, atMs: number): boolean {
  return card.state === 'open' && !isExpired(card, atMs);
}

function isExpired({ expiresAtMs }: Card, atMs: number): boolean {
  return expiresAtMs !== undefined && atMs >= expiresAtMs;
}

/** The states by which cards are listed. */
export const cardStates = ['open', 'snoozed', 'closed', 'all'] as const;

/** Whether a card is listed under a state. */
export function isInState(card: Card, state: (typeof cardStates)[number], atMs: number): boolean {
  switch (state) {
    case 'open':
      return isOpen(card, atMs) && !isSnoozed(card, atMs);
    case 'snoozed':
      return isOpen(card, atMs) && isSnoozed(card, atMs);
    case 'closed':
      return !isOpen(card, atMs);
    case 'all':
      return true;
  }
}

/** Finds an item by a prefix of its id, or of the id after its first dash; `isPreferred` decides between several. */
export function findByIdPrefix<T extends { readonly id: string }>(
  all: readonly T[],
  prefix: string,
  noun: string,
  isPreferred: (candidate: T) => boolean = () => true,
): T {
  const exact = all.find(({ id }) => id === prefix);
  if (exact !== undefined) return exact;
  const matches = all.filter(({ id }) => beginsWith(id, prefix) || beginsWith(id.slice(id.indexOf('-') + 1), prefix));
  const preferred = matches.filter(isPreferred);
  if (preferred.length === 1) return preferred[0]!;
  if (matches.length === 1) return matches[0]!;
  if (matches.length === 0)
    throw new SwitchgearError(
      'not_found',
      `there is no ${noun} ${quoteValue(prefix)} in this store${listHints[noun] ?? ''}`,
    );
  const candidates = matches.slice(0, candidatesShown).map(({ id }) => sanitizeText(id));
  const more = matches.length > candidatesShown ? ` and ${matches.length - candidatesShown} more` : '';
  throw new SwitchgearError(
    'not_found',
    `ambiguous id ${quoteValue(prefix)}; candidates: ${candidates.join(', ')}${more}`,
  );
}

/** Whether an id begins with a prefix. The number at its end is not cut: `card-x-1` is gone, and not `card-x-10`. */
function beginsWith(id: string, prefix: string): boolean {
  return id.startsWith(prefix) && !(/-\d+$/.test(prefix) && /^\d+$/.test(id.slice(prefix.length)));
}

/** Finds a card by its id, or by a prefix that is unique or the only open one. */
export async function findCard(store: CrossProcessStore, idPrefix: string): Promise<Card> {
  const [row] = await store.shared.read(`card/${idPrefix}`, 1);
  if (row?.key === `card/${idPrefix}` && row.state !== null) return row.state as Card;
  const atMs = store.clock.nowMs();
  return findByIdPrefix(await readCards(store), idPrefix, 'card', (candidate) => isOpen(candidate, atMs));
}

const actionWords: Readonly<Record<CardAction, string>> = {
  ...{ approve: 'approve', approve_run: 'approve --for run', approve_always: 'approve --for always' },
  ...{ approve_edited: 'approve --edit', decline: 'decline', retry_raised: 'retry', narrow_scope: 'narrow' },
  ...{ pause: 'pause', replan: 'replan', dismiss: 'dismiss' },
};

/** An action as a person types it after `switchgear inbox`. */
export function formatAction(action: CardAction): string {
  return actionWords[action];
}

/** Names the task, or the step of a chain run, that a card is about. */
export function describeSubject({ step, task }: Card): string {
  if (step === undefined) return task;
  return step.id === '' ? `${step.chain}: the run ${step.run}` : `${step.chain}: step ${step.id} of ${step.run}`;
}

/** Describes the state of a card: its answer, `expired`, `open` or the time left. */
export function describeCardState(card: Card, atMs: number): TableCell {
  const { state, answer, expiresAtMs } = card;
  if (answer !== undefined) return { text: `${answer} by ${describeAnswerer(card)}`, style: 'dim' };
  if (state === 'expired' || isExpired(card, atMs))
    return { text: card.kind === 'notice' ? 'over' : 'expired', style: 'dim' };
  return { text: expiresAtMs === undefined ? 'open' : `${formatTimeSpan(expiresAtMs - atMs)} left`, style: 'yellow' };
}

/** Sorts questions first, then halts, then notices, each in the given order. */
export function sortByKind(cards: readonly Card[]): readonly Card[] {
  const rank = { ask: 0, halt: 1, notice: 2 } as const;
  return cards.toSorted((left, right) => rank[left.kind] - rank[right.kind]);
}

/** The card with the input of the call that it asks about; the store has the input only while the question is open. */
export async function loadQuestion(store: CrossProcessStore, card: Card): Promise<QuestionCard> {
  if (card.kind !== 'ask' || !isOpen(card, store.clock.nowMs())) return card;
  return withInput(card, await readInput(store, card.id));
}

/** The card as a person reads it: with its input, and with the parameters of its chain run that the store hides. */
export async function loadReadableCard(store: CrossProcessStore, card: Card): Promise<QuestionCard> {
  const run = card.step && (await loadRun(store, card.step.run).catch((): undefined => undefined));
  const restored = run === undefined ? card : createParamRestorer(run.chain, run.params)(card);
  return loadQuestion(store, restored);
}

/** Approves or declines the card whose id has this prefix; throws `not_answered` if the card does not accept it. */
export async function answerQuestion(
  store: CrossProcessStore,
  idPrefix: string,
  answer: CardAction,
  operator: Operator,
  editedArgs?: string,
  words: AnswerWords = {},
): Promise<Card> {
  const card = await findCard(store, idPrefix);
  const atMs = store.clock.nowMs();
  const objection = findObjection(card, answer, atMs);
  if (objection !== undefined) throw new SwitchgearError('not_answered', objection);
  if (editedArgs !== undefined) await checkEditForm(store, card, editedArgs);
  // The call that waits reads the arguments once it sees the answer.
  const together = editedArgs === undefined ? [] : makeInputChanges(store, requestId(card.id), editedArgs, cardKeepMs);
  const { status, card: answeredCard } = await answerInStore(store, card, answer, operator, together, words);
  if (status !== 'taken' || answeredCard === undefined) {
    const late = answeredCard && findObjection(answeredCard, answer, store.clock.nowMs());
    throw new SwitchgearError('not_answered', late ?? `there is no card ${sanitizeText(card.id)} any more`);
  }
  if (card.actions.includes('approve_edited')) removeEditForm(store, card.id);
  await store.shared.settled();
  return answeredCard;
}

/** Throws `not_answered` if the host of the call that waits cannot take these arguments. */
async function checkEditForm(store: CrossProcessStore, card: Card, editedArgs: string): Promise<void> {
  const form = await readEditForm(store, card.id);
  const unfit = form && describeUnfitEdit(parseEditedArgs(editedArgs), form);
  if (unfit === undefined) return;
  throw new SwitchgearError('not_answered', `${sanitizeText(card.id)} was not answered: ${sanitizeText(unfit)}`);
}

/** Answers a card in the store; throws `store_unreachable` if the store is away. */
export async function answerInStore(
  store: CrossProcessStore,
  { id }: Card,
  answer: CardAction,
  { by, from }: Operator,
  together: readonly Change[] = [],
  words: AnswerWords = {},
): Promise<AnswerResult> {
  const result = await answerStoredCard(store, id, answer, by, from, together, words);
  if (result.status === 'unavailable') throw storeWriteError('the store is unavailable');
  return result;
}

/** The reason why a card does not accept an answer, or undefined. */
function findObjection(card: Card, answer: CardAction, atMs: number): string | undefined {
  const id = sanitizeText(card.id);
  if (!isOpen(card, atMs)) return describeNotOpen(card, atMs);
  if (card.actions.includes(answer)) return undefined;
  if (card.kind !== 'ask') return `${id} asks no question; it reports: ${sanitizeText(card.evidence[0] ?? card.code)}`;
  return sanitizeText(describeOtherAnswers(card, answer, formatAction) ?? '');
}

/** The message for a card that was answered or has expired. */
export function describeNotOpen(card: Card, atMs: number): string {
  if (card.answer !== undefined) return describeEarlierAnswer(card);
  if (card.kind === 'notice') return `${sanitizeText(card.id)} is over: nobody needs to answer it`;
  const ago = card.expiresAtMs === undefined ? '' : ` ${formatTimeSpan(atMs - card.expiresAtMs)} ago`;
  return `${sanitizeText(card.id)} expired${ago}: the action was not approved in time`;
}

/** The message for a card that has an answer already. */
export function describeEarlierAnswer(card: Card): string {
  return `${sanitizeText(card.id)} was answered already: ${card.answer} by ${sanitizeText(describeAnswerer(card))}`;
}

/** Names who answered a card: the user, and in parentheses the note and an answer without a terminal. */
function describeAnswerer({ by = 'somebody', from }: Card): string {
  const remarks = [from?.note ?? [], from?.how === 'unattended' ? 'unattended' : []].flat();
  return remarks.length === 0 ? by : `${by} (${remarks.join(', ')})`;
}

/** Returns the waiting chain run of a card if no living process owns the run: it continues on `chain resume` only. */
export async function findAbandonedRun(store: CrossProcessStore, { step }: Card): Promise<RunState | undefined> {
  if (step === undefined) return undefined;
  const run = await loadRun(store, step.run).catch((): undefined => undefined);
  if (run?.status !== 'waiting') return undefined;
  return run.owner === undefined || isOwnerGone(run.owner, store.clock.nowMs()) ? run : undefined;
}
