/** What a person sees when something halted or asks, and how it changes. */

import type { Code, Counters } from './verdict.ts';

/** `approve` is for the one action that asks; a run of a chain can also be told yes for all of it, or for good. */
export type CardAction =
  | 'approve'
  | 'approve_run'
  | 'approve_always'
  | 'decline'
  | 'retry_raised'
  | 'pause'
  | 'narrow_scope'
  | 'replan'
  | 'dismiss';

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
  /** The step of a chain that waits for the answer, and the rules that ask. */
  readonly step?: CardStep;
}

export interface CardStep {
  readonly run: string;
  readonly chain: string;
  /** Empty where the run as a whole is asked about. */
  readonly id: string;
  readonly rules: readonly string[];
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
