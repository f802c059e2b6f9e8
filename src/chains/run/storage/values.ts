/** Values that are kept in a store, whichever it is: in cells that processes share, or in this process's memory. */

import type { Card } from '../../../core/card.ts';
import type { Entry } from '../../../core/event.ts';
import type { CellUpdate, Change, PendingEntry, Store } from '../../../ports/store.ts';

/** A value in its cell; null where there is none. */
interface ValueCell<T> {
  value: T | null;
}

/** One stored value. `update` returns the next value, the same one for no change, or undefined to cancel. */
export interface ValueChange<T = unknown> {
  readonly key: string;
  readonly keepMs?: number;
  /** It is written and then read by others, or later: nobody here goes on looking at it. */
  readonly releaseAfterWrite?: true;
  update(value: T | null): T | null | undefined;
}

export interface CardChange {
  readonly id: string;
  update(card: Card | undefined): Card | undefined;
}

/** Changes that are written together, or not at all. */
export interface StoreChanges {
  readonly values?: readonly ValueChange[];
  readonly card?: CardChange | undefined;
  /** Written where the last of them really changes something: a change that is repeated is not told twice. */
  readonly entries?: readonly PendingEntry[];
}

/** `rejected`: an update declined, or the value does not fit. `unavailable`: the store cannot be reached now. */
export type ChangeResult =
  | { readonly status: 'committed' }
  | { readonly status: 'rejected'; readonly full: boolean }
  | { readonly status: 'unavailable'; readonly reason: string };

export type EntryListener = (entry: Entry) => void;

/** Writes changes in one transaction and passes the written journal entries to `onEntry`. */
export async function applyChanges(
  store: Store,
  changes: StoreChanges,
  onEntry: EntryListener = () => {},
): Promise<ChangeResult> {
  const { shared } = store;
  if (shared === undefined) return applyInMemory(store, changes, onEntry);
  const { values = [], card, entries = [] } = changes;
  const all: Change[] = values.map(({ key, keepMs, update: updateValue }) => ({
    cell: store.cell<ValueCell<unknown>>(key, () => ({ value: null }), keepMs === undefined ? {} : { keepMs }),
    update: (state) => computeUpdate((state as ValueCell<unknown>).value, updateValue, (value) => ({ value })),
  }));
  if (card !== undefined) {
    store.card(card.id); // Opens it as the store wants its cards to be seen.
    all.push({
      cell: store.cell<Card | null>(`card/${card.id}`, () => null),
      update: (state) => computeUpdate((state ?? undefined) as Card | undefined, card.update, (next) => next),
    });
  }
  const last = all.pop();
  if (last === undefined) return { status: 'committed' };
  all.push({
    cell: last.cell,
    update(state) {
      const next = last.update(state);
      return typeof next === 'object' ? { ...next, entries } : next;
    },
  });
  const result = await shared.commit({ changes: all, onCommitted: (entries) => entries.forEach(onEntry) });
  for (const { key, releaseAfterWrite: evict } of values) if (evict) shared.evict?.(key);
  switch (result.status) {
    case 'committed':
      return { status: 'committed' };
    case 'rejected':
      return { status: 'rejected', full: result.by === 'full' };
    case 'queued':
      return { status: 'unavailable', reason: 'the store is away' };
    case 'unavailable':
      return result;
  }
}

function computeUpdate<T>(
  before: T,
  update: (value: T) => T | undefined,
  stateOf: (next: T) => unknown,
): CellUpdate<unknown> {
  const next = update(before);
  if (next === undefined) return 'refuse';
  return next === before ? 'keep' : { state: stateOf(next) };
}

function applyInMemory(
  store: Store,
  { values = [], card, entries = [] }: StoreChanges,
  onEntry: EntryListener,
): ChangeResult {
  const before = values.map(({ key }) => readInMemory(store, key));
  const next = values.map(({ update: updateValue }, at) => updateValue(before[at]));
  const currentCard = card && store.card(card.id);
  const nextCard = card?.update(currentCard);
  if (next.includes(undefined) || (card !== undefined && nextCard === undefined))
    return { status: 'rejected', full: false };
  values.forEach(({ key }, at) => {
    getCell(store, key).value = next[at];
  });
  if (nextCard !== undefined && nextCard !== currentCard) store.putCard(nextCard);
  const isNew = card === undefined ? next.at(-1) !== before.at(-1) : nextCard !== currentCard;
  if (isNew) for (const { body, place, atMs } of entries) onEntry(store.append(body, place, atMs));
  return { status: 'committed' };
}

function getCell(store: Store, key: string): ValueCell<unknown> {
  return store.cell<ValueCell<unknown>>(key, () => ({ value: null })).state;
}

/** A look leaves no empty cell behind. */
function readInMemory(store: Store, key: string): unknown {
  const { value } = getCell(store, key);
  if (value === null) store.drop(key);
  return value;
}

/** The value under a key, as the store has it now. */
export async function readValue<T>(store: Store, key: string): Promise<T | undefined> {
  if (store.shared === undefined) return (readInMemory(store, key) ?? undefined) as T | undefined;
  const found = (await readValues<T>(store, key, 1)).find((each) => each.key === key);
  return found?.value;
}

/** Every value whose key begins so. */
export async function readValues<T>(
  store: Store,
  prefix: string,
  limit: number,
): Promise<readonly { readonly key: string; readonly value: T }[]> {
  const stored =
    store.shared === undefined
      ? [...store.keys()]
          .filter((key) => key.startsWith(prefix))
          .map((key) => ({ key, state: getCell(store, key) as unknown }))
      : await store.shared.read(prefix, limit);
  return stored.flatMap(({ key, state }) => {
    const { value } = (state ?? { value: null }) as ValueCell<T>;
    return value === null || value === undefined ? [] : [{ key, value }];
  });
}
