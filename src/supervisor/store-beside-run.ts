/** The store of a process whose halts the run around it reports, with their cards. */

import type { Card } from '../core/card.ts';
import type { CrossProcessStore } from '../ports/store.ts';

/** @param others More properties in place of those of the store. */
export function makeStoreWithoutHalts<S extends Pick<CrossProcessStore, 'append' | 'putCard' | 'clock'>>(
  store: S,
  others: PropertyDescriptorMap = {},
): S {
  const append: S['append'] = (body, place, atMs) => {
    const isHalt = body.type === 'task-halted' || (body.type === 'card-changed' && body.card.kind === 'halt');
    return isHalt ? { ...body, ...place, seq: 0, atMs, wallMs: store.clock.wallMs() } : store.append(body, place, atMs);
  };
  const putCard = (card: Card) => (card.kind === 'halt' ? undefined : store.putCard(card));
  return Object.create(store, { append: { value: append }, putCard: { value: putCard }, ...others }) as S;
}
