/** Cards as a person decides about them: sorted, equal ones folded, with counters, last events and risk. */

import { type Card, type CardCounter, type CardRaise, isSnoozed, type QuestionCard } from '../../core/card.ts';
import { unlimited } from '../../core/declare/setting.ts';
import { secsMax } from '../../core/limits.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { isAlive, type RunRecord, readRuns } from '../../supervisor/run-record.ts';
import { isOpen, loadReadableCard } from '../cards.ts';
import type { CardHistory, TaskEvent } from './card-history.ts';
import { createEffectReader, type Effect, type EffectReader } from './effects.ts';

/** The risk by which cards are sorted. */
export type Risk = NonNullable<Card['risk']>;

/** A counter with its unit. */
export interface CounterView extends CardCounter {
  readonly unit: 'calls' | 'cents' | 'tokens' | 'secs' | 'count';
}

/** What a person needs to know to decide about a card. */
export interface CardDetails {
  readonly risk: Risk;
  /** The counters of the task with their limits; the reached one first. */
  readonly counters: readonly CounterView[];
  /** The limit that a retry raises, with its bounds. */
  readonly raise?: CardRaise;
  /** The last events of the task, oldest first. */
  readonly lastEvents: readonly TaskEvent[];
  readonly spentCents?: number;
  readonly limitCents?: number;
  readonly evidence: readonly string[];
  /** Whether a process waits for the answer; without one, a retry needs a terminal. Absent if it is not known. */
  readonly isAwaited?: boolean;
}

/** A card in the list of a person. */
export interface CardView extends QuestionCard {
  readonly isOpen: boolean;
  /** How long the card has been waiting for an answer. */
  readonly waitingMs?: number;
  /** How many equal open cards this one stands for, itself included. */
  readonly count: number;
  /** The ids of the equal open cards, without its own. */
  readonly equals: readonly string[];
  /** The tasks of the first of them. */
  readonly equalTasks: readonly string[];
  readonly details: CardDetails;
  /** What the answer has done, as the store has it now; absent while the card is open. */
  readonly effect?: Effect;
}

const riskRank: Readonly<Record<Risk, number>> = { high: 0, medium: 1, low: 2 };
const risksOfKinds: Readonly<Record<Card['kind'], Risk>> = { ask: 'high', halt: 'medium', notice: 'low' };

/** The risk of a card: its own, or that of its kind. */
function riskOf({ kind, risk }: Card): Risk {
  return risk ?? risksOfKinds[kind];
}

/** Sorts by risk, then by the time that an agent has been waiting, then by id. */
export function sortByUrgency(cards: readonly Card[], { times }: Pick<CardHistory, 'times'>): readonly Card[] {
  const ranked = cards.map((card) => {
    const { id, openedWallMs = times.get(id)?.openedWallMs ?? 0 } = card;
    return { card, id, rank: riskRank[riskOf(card)], openedMs: openedWallMs };
  });
  ranked.sort(
    (left, right) => left.rank - right.rank || left.openedMs - right.openedMs || (left.id < right.id ? -1 : 1),
  );
  return ranked.map(({ card }) => card);
}

/** Sorts answered and expired cards, the newest first. */
export function sortByAnswer(cards: readonly Card[], { times }: Pick<CardHistory, 'times'>): readonly Card[] {
  const endedMs = ({ id, answeredWallMs, openedWallMs }: Card) =>
    answeredWallMs ?? times.get(id)?.answeredWallMs ?? openedWallMs ?? times.get(id)?.openedWallMs ?? 0;
  return cards.toSorted((left, right) => endedMs(right) - endedMs(left) || (left.id < right.id ? -1 : 1));
}

/** A card with the equal ones that it stands for. */
export interface FoldedCard {
  readonly card: Card;
  readonly equals: readonly Card[];
}

/** Whether a living process waits for the answer, by the id of a card; absent for a card without a stored run. */
export type AwaitedCards = ReadonlyMap<string, boolean>;

/** Reads which halts a process waits for. */
export async function readAwaitedCards(store: CrossProcessStore): Promise<AwaitedCards> {
  return new Map(
    (await readRuns(store)).flatMap((run) => (run.card === undefined ? [] : [[run.card, isAwaitedBy(run)]])),
  );
}

function isAwaitedBy({ state, owner }: RunRecord): boolean {
  return state === 'waiting' && isAlive(owner);
}

/**
 * Folds equal open cards into the first of them; others stay as they are. A halt that a process waits for can be tried
 * again from anywhere, any other one only in a terminal: they are not equal.
 */
export function foldCards(cards: readonly Card[], atMs: number, awaited: AwaitedCards): readonly FoldedCard[] {
  const groups = new Map<string, { readonly card: Card; readonly equals: Card[] }>();
  for (const card of cards) {
    const key = isOpen(card, atMs) && !isSnoozed(card, atMs) ? `${awaited.get(card.id)} ${causeOf(card)}` : card.id;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { card, equals: [] });
    else group.equals.push(card);
  }
  return [...groups.values()];
}

/** Tasks that a card names beside its own. */
const equalTasksMax = 10;

/** A text that is the same for cards of one cause. Questions are equal only if they are about the same call. */
function causeOf(card: Card): string {
  const known = causes.get(card);
  if (known !== undefined) return known;
  const cause = describeCause(card);
  causes.set(card, cause);
  return cause;
}

/** The causes of cards that were compared before: a server compares the same cards again and again. */
const causes = new WeakMap<Card, string>();

function describeCause(card: Card): string {
  const { id, kind, task, agent = '', code, counters, evidence, actions, digest, alike, raise } = card;
  switch (kind) {
    case 'ask':
      if (digest === undefined) return id;
      return JSON.stringify([kind, ...(alike === undefined ? [task, digest] : [alike]), actions]);
    case 'halt':
      // Cards with other bounds of a retry cannot be answered together.
      return JSON.stringify([kind, agent, code, counters.limit, counters.scope, raise, actions]);
    case 'notice':
      return agent === '' ? id : JSON.stringify([kind, agent, evidence[0]?.replace(/\d+/g, '#'), actions]);
  }
}

/** The open cards that are folded with a card, the longest open first. Snoozed ones are left alone. */
export function findEqualCards(
  cards: readonly Card[],
  card: Card,
  atMs: number,
  awaited: AwaitedCards,
): readonly Card[] {
  const cause = causeOf(card);
  const isEqual = (each: Card) => causeOf(each) === cause && awaited.get(each.id) === awaited.get(card.id);
  return cards
    .filter((each) => each.id !== card.id && isOpen(each, atMs) && !isSnoozed(each, atMs) && isEqual(each))
    .toSorted((left, right) => (left.openedWallMs ?? 0) - (right.openedWallMs ?? 0));
}

/** Makes the views of cards: with the input of open questions, the times and last events of the journal. */
export async function viewCards(
  store: CrossProcessStore,
  history: CardHistory,
  folded: readonly FoldedCard[],
): Promise<readonly CardView[]> {
  const runs = new Map((await readRuns(store)).flatMap((run) => (run.card === undefined ? [] : [[run.card, run]])));
  const readEffect = createEffectReader(store, history);
  return Promise.all(folded.map((each) => viewCard(store, history, each, runs.get(each.card.id), readEffect)));
}

async function viewCard(
  store: CrossProcessStore,
  history: CardHistory,
  { card, equals }: FoldedCard,
  run: RunRecord | undefined,
  readEffect: EffectReader,
): Promise<CardView> {
  const { clock } = store;
  const times = { ...history.times.get(card.id), ...pickTimes(card) };
  const open = isOpen(card, clock.nowMs());
  const agent = card.agent ?? run?.agent;
  const effect = open ? undefined : await readEffect(card.state === 'open' ? { ...card, state: 'expired' } : card);
  return {
    ...(await loadReadableCard(store, card)),
    ...(agent !== undefined && { agent }),
    ...times,
    isOpen: open,
    ...(open && times.openedWallMs !== undefined && { waitingMs: Math.max(0, clock.wallMs() - times.openedWallMs) }),
    count: 1 + equals.length,
    equals: equals.map(({ id }) => id),
    equalTasks: equals.slice(0, equalTasksMax).map(({ task }) => task),
    details: describeDetails(card, history, run),
    ...(effect && { effect }),
  };
}

function pickTimes({ openedWallMs, answeredWallMs }: Card) {
  return {
    ...(openedWallMs !== undefined && { openedWallMs }),
    ...(answeredWallMs !== undefined && { answeredWallMs }),
  };
}

function describeDetails(card: Card, history: CardHistory, run: RunRecord | undefined): CardDetails {
  const counters = listCounters(card);
  const spend = counters.find(({ name }) => name === 'spend_cents');
  return {
    risk: riskOf(card),
    counters,
    ...(card.raise && { raise: card.raise }),
    lastEvents: history.lastEvents(card.task),
    ...(spend && { spentCents: spend.used, limitCents: spend.limit }),
    evidence: card.evidence,
    ...(run && { isAwaited: isAwaitedBy(run) }),
  };
}

/** The counters of a card: the reached limit first, as the halt counted it. */
function listCounters({ counts = [], counters, raise, code }: Card): readonly CounterView[] {
  const { actual, limit } = counters;
  const isReached = ({ name, setting }: CardCounter) => setting === raise?.setting || name === code;
  const reached = counts.find(isReached);
  const rest = counts.filter((each) => !isReached(each));
  const first =
    typeof actual === 'number' && typeof limit === 'number'
      ? [{ ...(reached ?? { name: code, setting: raise?.setting ?? '', source: '' }), used: actual, limit }]
      : [];
  const all = raise === undefined && rest.length > 0 && code === 'notice' ? rest : [...first, ...rest];
  return all.filter((each) => !isOff(each)).map((each) => ({ ...each, unit: unitOf(each.name) }));
}

/** Whether a limit is the largest number that it can be. */
function isOff({ name, limit }: CardCounter): boolean {
  return limit >= (name.endsWith('_secs') ? secsMax : unlimited);
}

function unitOf(name: string): CounterView['unit'] {
  if (name.endsWith('_calls')) return 'calls';
  if (name.endsWith('_cents')) return 'cents';
  if (name.endsWith('_secs')) return 'secs';
  return name === 'tokens' ? 'tokens' : 'count';
}
