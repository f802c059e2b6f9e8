/** The cards of a store as the inbox reads them: found by the beginning of an id, and told in words. */

import type { Card } from '../core/card.ts';
import { SwitchgearError } from '../core/error.ts';
import { journalEntriesMax } from '../core/limits.ts';
import { quoteValue } from '../core/quote.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import { formatTimeSpan, sanitizeText, type TableCell } from './format.ts';

export async function readCards({ shared }: CrossProcessStore): Promise<readonly Card[]> {
  const cells = await shared.read('card/', journalEntriesMax);
  return cells.flatMap(({ state }) => (state === null ? [] : [state as Card]));
}

/** Whether somebody can still do something about it. */
export function isOpen(card: Card, atMs: number): boolean {
  return card.state === 'open' && !isExpired(card, atMs);
}

function isExpired({ expiresAtMs }: Card, atMs: number): boolean {
  return expiresAtMs !== undefined && atMs >= expiresAtMs;
}

/** The one whose id begins so, or has this after its first dash; of several the only one that `isMeant`. */
export function findByIdPrefix<T extends { readonly id: string }>(
  all: readonly T[],
  prefix: string,
  noun: string,
  isPreferred: (candidate: T) => boolean = () => true,
): T {
  const exact = all.find(({ id }) => id === prefix);
  if (exact !== undefined) return exact;
  const matches = all.filter(({ id }) => id.startsWith(prefix) || id.slice(id.indexOf('-') + 1).startsWith(prefix));
  const preferred = matches.filter(isPreferred);
  if (preferred.length === 1) return preferred[0]!;
  if (matches.length === 1) return matches[0]!;
  if (matches.length === 0)
    throw new SwitchgearError('not_found', `there is no ${noun} ${quoteValue(prefix)} in this store`);
  const examples = matches.slice(0, 5).map(({ id }) => sanitizeText(id));
  throw new SwitchgearError(
    'not_found',
    `${matches.length} begin with ${quoteValue(prefix)}: say more of ${examples.join(', ')}`,
  );
}

/** What a card is about, in a few words. */
export function describeSubject({ step, task }: Card): string {
  if (step === undefined) return task;
  return step.id === '' ? `${step.chain}: the run ${step.run}` : `${step.chain}: step ${step.id} of ${step.run}`;
}

/** How it stands, in words. */
export function describeCardState(card: Card, atMs: number): TableCell {
  const { state, answer, by, expiresAtMs } = card;
  if (answer !== undefined) return { text: `${answer} by ${by ?? 'somebody'}`, style: 'dim' };
  if (state === 'expired' || isExpired(card, atMs)) return { text: 'expired', style: 'dim' };
  return { text: expiresAtMs === undefined ? 'open' : `${formatTimeSpan(expiresAtMs - atMs)} left`, style: 'yellow' };
}

/** The newest last, as one reads; those that ask before those that tell. */
export function sortCards(cards: readonly Card[]): readonly Card[] {
  const rank = { ask: 0, halt: 1, notice: 2 } as const;
  return cards.toSorted(
    (left, right) =>
      rank[left.kind] - rank[right.kind] ||
      (left.expiresAtMs ?? 0) - (right.expiresAtMs ?? 0) ||
      (left.id < right.id ? -1 : 1),
  );
}
