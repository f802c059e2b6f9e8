/** Reads and writes values in any store: in shared cells, or in the memory of this process. */

import type { Card } from '../../../core/card.ts';
import type { Entry } from '../../../core/event.ts';
import type { CellUpdate, Change, PendingEntry, Store } from '../../../ports/store.ts';

/** A value in its cell; null if there is none. */
interface ValueCell<T> {
  value: T | null;
}

/** A change of one value. `update` returns the next value, the same value for no change, or undefined to reject. */
export interface ValueChange<T = unknown> {
  readonly key: string;
  readonly keepMs?: number;
  /** Drop the cached cell after the write, because this process does not read the value again. */
  readonly releaseAfterWrite?: true;
  update(value: T | null): T | null | undefined;
}

export interface CardChange {
  readonly id: string;
  update(card: Card | undefined): Card | undefined;
}

/** Changes in one transaction: all or nothing. */
export interface StoreChanges {
  readonly values?: readonly ValueChange[];
  readonly card?: CardChange | undefined;
  /** Changes of other cells of a shared store. */
  readonly others?: readonly Change[];
  /** Written only if the last change has an effect: a repeated change writes no second entry. */
  readonly entries?: readonly PendingEntry[];
}

/** `rejected`: an update returned undefined, or the value does not fit. `unavailable`: the store is unreachable. */
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
  const { values = [], card, entries = [], others = [] } = changes;
  const valueChanges: readonly Change[] = values.map(({ key, keepMs, update: updateValue }) => ({
    cell: store.cell<ValueCell<unknown>>(key, () => ({ value: null }), keepMs === undefined ? {} : { keepMs }),
    update: (state) => computeUpdate((state as ValueCell<unknown>).value, updateValue, (value) => ({ value })),
  }));
  const all: Change[] = [...others, ...valueChanges];
  if (card !== undefined) {
    store.card(card.id); // Opens the cell with the store's settings for cards.
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

/** Reads a value without leaving an empty cell. */
function readInMemory(store: Store, key: string): unknown {
  const { value } = getCell(store, key);
  if (value === null) store.drop(key);
  return value;
}

/** The current value of a key. */
export async function readValue<T>(store: Store, key: string): Promise<T | undefined> {
  if (store.shared === undefined) return (readInMemory(store, key) ?? undefined) as T | undefined;
  const found = (await readValues<T>(store, key, 1)).find((each) => each.key === key);
  return found?.value;
}

/** All values with this key prefix. */
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
