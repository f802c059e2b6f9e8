/** The cards of a store as the inbox reads them: found by the beginning of an id, and told in words. */

import type { CrossProcessStore } from '../cli/store-option.ts';
import { formatTimeSpan, sanitizeText, type TableCell } from '../cli/terminal-table.ts';
import type { Card } from '../core/card.ts';
import { SwitchgearError } from '../core/error.ts';
import { journalEntriesMax } from '../core/limits.ts';
import { quoteValue } from '../core/quote.ts';

export async function cardsOf({ shared }: CrossProcessStore): Promise<readonly Card[]> {
  const stored = await shared.read('card/', journalEntriesMax);
  return stored.flatMap(({ state }) => (state === null ? [] : [state as Card]));
}

/** Whether somebody can still do something about it. */
export function isOpen(card: Card, atMs: number): boolean {
  return card.state === 'open' && !isPast(card, atMs);
}

function isPast({ expiresAtMs }: Card, atMs: number): boolean {
  return expiresAtMs !== undefined && atMs >= expiresAtMs;
}

/** The one whose id begins so, or has this after its first dash; of several the only one that `isMeant`. */
export function oneOf<T extends { readonly id: string }>(
  all: readonly T[],
  begins: string,
  what: string,
  isMeant: (one: T) => boolean = () => true,
): T {
  const exact = all.find(({ id }) => id === begins);
  if (exact !== undefined) return exact;
  const found = all.filter(({ id }) => id.startsWith(begins) || id.slice(id.indexOf('-') + 1).startsWith(begins));
  const meant = found.filter(isMeant);
  if (meant.length === 1) return meant[0]!;
  if (found.length === 1) return found[0]!;
  if (found.length === 0)
    throw new SwitchgearError('not_found', `there is no ${what} ${quoteValue(begins)} in this store`);
  const some = found.slice(0, 5).map(({ id }) => sanitizeText(id));
  throw new SwitchgearError(
    'not_found',
    `${found.length} begin with ${quoteValue(begins)}: say more of ${some.join(', ')}`,
  );
}

/** What a card is about, in a few words. */
export function subjectOf({ step, task }: Card): string {
  if (step === undefined) return task;
  return step.id === '' ? `${step.chain}: the run ${step.run}` : `${step.chain}: step ${step.id} of ${step.run}`;
}

/** How it stands, in words. */
export function stateOf(card: Card, atMs: number): TableCell {
  const { state, answer, by, expiresAtMs } = card;
  if (answer !== undefined) return { text: `${answer} by ${by ?? 'somebody'}`, style: 'dim' };
  if (state === 'expired' || isPast(card, atMs)) return { text: 'expired', style: 'dim' };
  return { text: expiresAtMs === undefined ? 'open' : `${formatTimeSpan(expiresAtMs - atMs)} left`, style: 'yellow' };
}

/** The newest last, as one reads; those that ask before those that tell. */
export function inOrder(cards: readonly Card[]): readonly Card[] {
  const rank = { ask: 0, halt: 1, notice: 2 } as const;
  return cards.toSorted(
    (one, other) =>
      rank[one.kind] - rank[other.kind] ||
      (one.expiresAtMs ?? 0) - (other.expiresAtMs ?? 0) ||
      (one.id < other.id ? -1 : 1),
  );
}
