/** The open cards as the page has them: a part of the inbox read from the API, kept current with journal entries. */

import type { Card, CardRaise } from '../../../src/core/card.ts';
import type { Entry } from '../../../src/core/event.ts';
import { formatNumber } from './format.ts';

/** One counter of a card against its limit. */
export interface CardCounter {
  readonly name: string;
  readonly used: number;
  readonly limit?: number;
  readonly unit?: string;
  readonly setting?: string;
  readonly source?: string;
}

/** A recent event of a task. */
export interface TaskEvent {
  readonly seq: number;
  readonly wallMs: number;
  readonly type: string;
  readonly words?: string;
}

/** What the API adds to a card for the person who decides. */
export interface CardDetails {
  readonly counters?: readonly CardCounter[];
  readonly raise?: CardRaise;
  readonly lastEvents?: readonly TaskEvent[];
  readonly spentCents?: number;
  readonly limitCents?: number;
  readonly evidence?: readonly string[];
  readonly risk?: Card['risk'];
  /** Whether a process waits for the answer; absent if it is not known. */
  readonly isAwaited?: boolean;
}

/** A card of the API. */
export interface PageCard extends Card {
  readonly isOpen?: boolean;
  readonly input?: string;
  readonly answeredBy?: string;
  readonly waitingMs?: number;
  /** Equal cards that this one stands for, itself included, and the ids of the others. */
  readonly count?: number;
  readonly equals?: readonly string[];
  /** The tasks of the first of them. */
  readonly equalTasks?: readonly string[];
  readonly effect?: string | { readonly sentence?: string };
  readonly details?: CardDetails;
}

/** The open cards that are loaded, in the order of the server, and how many there are in all. */
export interface InboxState {
  readonly cards: readonly PageCard[];
  readonly total: number;
}

/** The most cards that the page holds; more of them stay on the server until these are decided. */
export const cardsLoadedMax = 1_000;

/** Says how many open cards the page does not hold; undefined if it holds all or will. */
export function describeMore({ cards, total }: InboxState): string | undefined {
  if (cards.length < cardsLoadedMax || total <= cards.length) return undefined;
  const [shown, more] = [cards.length, total - cards.length].map(formatNumber);
  return `The ${shown} most urgent cards are listed. ${more} more are open: they follow as these are decided.`;
}

/** Cards of one request. */
export const cardsPerRequest = 100;

/** Puts the changes of cards that entries report into the state. Only the server knows which cards are equal. */
export function applyEntries(state: InboxState, entries: readonly Entry[], atMs: number): InboxState {
  const cards = new Map(state.cards.map((card) => [card.id, card]));
  let { total } = state;
  for (const entry of entries) {
    if (entry.type !== 'card-changed') continue;
    const card: PageCard = entry.card;
    const before = cards.get(card.id);
    if (card.state !== 'open' || (card.snoozedUntilMs ?? 0) > atMs) {
      if (cards.delete(card.id)) total--;
    } else if (before !== undefined) cards.set(card.id, { ...before, ...card });
    else if (![...cards.values()].some((other) => isProbablyEqual(other, card))) {
      total++;
      const agent = card.agent ?? entry.agent;
      if (cards.size < cardsLoadedMax)
        cards.set(card.id, { openedWallMs: entry.wallMs, ...(agent !== undefined && { agent }), ...card });
    }
  }
  return { cards: sortOpenCards([...cards.values()]), total };
}

/** Whether the server will fold a new card into another one, so that it need not appear for a moment. */
function isProbablyEqual(left: PageCard, right: PageCard): boolean {
  return (
    left.kind === right.kind &&
    left.code === right.code &&
    (left.alike ?? left.digest) === (right.alike ?? right.digest) &&
    left.agent === right.agent &&
    left.agent !== undefined &&
    (left.kind !== 'ask' || left.digest !== undefined) &&
    left.evidence[0] === right.evidence[0]
  );
}

/** Adds cards from the API. A card that did not change stays the same object, so that it is not drawn again. */
export function mergeCards(
  state: InboxState,
  loaded: readonly PageCard[],
  total: number,
  before: InboxState = state,
): InboxState {
  const known = new Map(before.cards.map((card) => [card.id, card]));
  const cards = new Map(state.cards.map((card) => [card.id, card]));
  for (const card of loaded) {
    const old = known.get(card.id);
    cards.set(card.id, old !== undefined && isSame(old, card) ? old : card);
  }
  return { cards: sortOpenCards([...cards.values()]), total: Math.max(total, cards.size) };
}

/**
 * Takes the answer to a reading of the list. Cards whose entries came while it was under way are newer than the answer:
 * `changed` has their ids.
 */
export function takeReading(
  before: InboxState,
  loaded: readonly PageCard[],
  total: number,
  changed: ReadonlySet<string>,
): InboxState {
  const isOpen = new Set(before.cards.map(({ id }) => id));
  const isKnown = new Set(loaded.flatMap(({ id, equals = [] }) => [id, ...equals]));
  const kept = before.cards.filter(({ id }) => changed.has(id) && !isKnown.has(id));
  const stillOpen = loaded.filter(({ id }) => !changed.has(id) || isOpen.has(id));
  const gone = loaded.length - stillOpen.length;
  return mergeCards({ cards: kept, total: 0 }, stillOpen, total + kept.length - gone, before);
}

/** Whether two versions of a card say the same; the age of a card is counted from its opening. */
function isSame(left: PageCard, right: PageCard): boolean {
  return JSON.stringify({ ...left, waitingMs: 0 }) === JSON.stringify({ ...right, waitingMs: 0 });
}

/** Removes cards that are decided, and cards that expired. */
export function dropCards(state: InboxState, isGone: (card: PageCard) => boolean): InboxState {
  const cards = state.cards.filter((card) => !isGone(card));
  const gone = state.cards.length - cards.length;
  return gone === 0 ? state : { cards, total: state.total - gone };
}

const riskRank: Readonly<Record<string, number>> = { high: 0, medium: 1, low: 2 };
const risksOfKinds = { ask: 'high', halt: 'medium', notice: 'low' } as const;

/** The risk of a card: its own, or that of its kind. */
export function riskOf({ kind, risk, details }: PageCard): string {
  return details?.risk ?? risk ?? risksOfKinds[kind];
}

/** Sorts by risk, then by how long an agent has been waiting, as the server does. */
export function sortOpenCards(cards: readonly PageCard[]): readonly PageCard[] {
  const rank = (card: PageCard) => riskRank[riskOf(card)] ?? 1;
  return cards.toSorted(
    (left, right) =>
      rank(left) - rank(right) || (left.openedWallMs ?? 0) - (right.openedWallMs ?? 0) || (left.id < right.id ? -1 : 1),
  );
}
