/** What a person sees when something halted or asks, and how it changes. */

import type { Code, Counters } from './verdict.ts';

export type CardAction = 'approve' | 'decline' | 'retry_raised' | 'pause' | 'narrow_scope' | 'replan' | 'dismiss';

export interface Card {
  readonly id: string;
  readonly kind: 'halt' | 'ask' | 'notice';
  readonly task: string;
  readonly code: Code | 'notice';
  readonly counters: Counters;
  /** Sentences for a person: what happened, what repeated, what is waiting. */
  readonly evidence: readonly string[];
  readonly actions: readonly CardAction[];
  readonly state: 'open' | 'answered' | 'used' | 'expired';
  readonly answer?: CardAction;
  readonly by?: string;
  readonly expiresAtMs?: number;
}

export type CardEvent =
  | { readonly type: 'card-answered'; readonly atMs: number; readonly answer: CardAction; readonly by: string }
  | { readonly type: 'card-used'; readonly atMs: number }
  | { readonly type: 'card-expired'; readonly atMs: number };

/** The next state of a card. An impossible pair changes nothing: the first answer stands, a used card stays used. */
export function changeCard(card: Card, event: CardEvent): Card {
  switch (event.type) {
    case 'card-answered':
      if (card.state !== 'open' || isPast(card, event.atMs)) return card;
      if (!card.actions.includes(event.answer)) return card; // Only what was offered can be chosen.
      return { ...card, state: 'answered', answer: event.answer, by: event.by };
    case 'card-used':
      if (card.state !== 'answered' || isPast(card, event.atMs)) return card; // Single use, and never after its time.
      return { ...card, state: 'used' };
    case 'card-expired':
      if (card.state === 'used' || !isPast(card, event.atMs)) return card;
      return { ...card, state: 'expired' };
  }
}

function isPast(card: Card, atMs: number): boolean {
  return card.expiresAtMs !== undefined && atMs >= card.expiresAtMs;
}
