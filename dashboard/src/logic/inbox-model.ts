/** The open cards as the page has them: a part of the inbox read from the API, kept current with journal entries. */

import type { Card } from '../../../src/core/card.ts';
import type { Entry } from '../../../src/core/event.ts';

/** One counter of a card against its limit. */
export interface CardCounter {
  readonly name: string;
  readonly used: number;
  readonly limit?: number;
  readonly unit?: string;
  readonly setting?: string;
  readonly source?: string;
}

/** What the API adds to a card for the person who decides. */
export interface CardDetails {
  readonly counters?: readonly CardCounter[];
  readonly raise?: {
    readonly setting: string;
    readonly suggested: number;
    readonly min: number;
    readonly max: number;
    readonly unit?: string;
  };
  readonly lastEvents?: readonly (Entry & { readonly text?: string })[];
  readonly spentCents?: number;
  readonly limitCents?: number;
  readonly evidence?: readonly string[];
  readonly risk?: string | number;
}

/** A card of the API. */
export interface PageCard extends Card {
  readonly isOpen?: boolean;
  readonly input?: string;
  readonly agent?: string;
  readonly openedWallMs?: number;
  readonly answeredWallMs?: number;
  readonly answeredBy?: string;
  readonly waitingMs?: number;
  /** Equal cards that are folded into this one, itself included. */
  readonly count?: number;
  readonly snoozedUntilMs?: number;
  readonly note?: string;
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

/** Cards of one request. */
export const cardsPerRequest = 100;

/** Puts the changes of cards that entries report into the state; returns the ids of cards that need their details. */
export function applyEntries(
  state: InboxState,
  entries: readonly Entry[],
): { readonly state: InboxState; readonly incomplete: readonly string[] } {
  const cards = new Map(state.cards.map((card) => [card.id, card]));
  const incomplete = new Set<string>();
  let { total } = state;
  for (const entry of entries) {
    if (entry.type !== 'card-changed') continue;
    const { card } = entry;
    const before = cards.get(card.id);
    if (card.state !== 'open') {
      incomplete.delete(card.id);
      if (cards.delete(card.id)) total--;
      continue;
    }
    incomplete.add(card.id);
    if (before === undefined) total++;
    if (before === undefined && cards.size >= cardsLoadedMax) continue;
    cards.set(card.id, {
      openedWallMs: entry.wallMs,
      ...(entry.agent !== undefined && { agent: entry.agent }),
      ...before,
      ...card,
    });
  }
  if (incomplete.size === 0 && cards.size === state.cards.length) return { state, incomplete: [] };
  return { state: { cards: sortOpenCards([...cards.values()]), total }, incomplete: [...incomplete] };
}

/** Adds a page of cards from the API, or replaces cards that are there already. */
export function mergeCards(state: InboxState, loaded: readonly PageCard[], total: number): InboxState {
  const cards = new Map(state.cards.map((card) => [card.id, card]));
  for (const card of loaded) {
    if (card.isOpen === false || card.state !== 'open') cards.delete(card.id);
    else cards.set(card.id, card);
  }
  return { cards: sortOpenCards([...cards.values()]), total: Math.max(total, cards.size) };
}

/** Removes one card that is decided. */
export function removeCard(state: InboxState, id: string): InboxState {
  const cards = state.cards.filter((card) => card.id !== id);
  return { cards, total: state.total - (state.cards.length - cards.length) };
}

const kindRank = { ask: 0, halt: 1, notice: 2 } as const;
const riskRank: Readonly<Record<string, number>> = { critical: 4, high: 3, medium: 2, low: 1 };

/** Sorts by risk, then questions before halts before notices, then by how long an agent has been waiting. */
export function sortOpenCards(cards: readonly PageCard[]): readonly PageCard[] {
  return cards.toSorted(
    (left, right) =>
      Number(left.kind === 'notice') - Number(right.kind === 'notice') ||
      rankRisk(right) - rankRisk(left) ||
      kindRank[left.kind] - kindRank[right.kind] ||
      (left.openedWallMs ?? 0) - (right.openedWallMs ?? 0) ||
      (left.id < right.id ? -1 : 1),
  );
}

function rankRisk({ details }: PageCard): number {
  const risk = details?.risk;
  return typeof risk === 'number' ? risk : (riskRank[risk ?? ''] ?? 0);
}
