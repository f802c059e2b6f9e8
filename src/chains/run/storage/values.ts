/** Values that are kept in a store, whichever it is: in cells that processes share, or in this process's memory. */

import type { Card } from '../../../core/card.ts';
import type { Entry } from '../../../core/event.ts';
import type { CellUpdate, Change, PendingEntry, Store } from '../../../ports/store.ts';

/** A value in its cell; null where there is none. */
interface Kept<T> {
  value: T | null;
}

/** One value that changes. `step` gives the next one, the same one where nothing changes, or undefined: not at all. */
export interface ValueChange<T = unknown> {
  readonly key: string;
  readonly keepMs?: number;
  /** It is written and then read by others, or later: nobody here goes on looking at it. */
  readonly letGo?: true;
  step(value: T | null): T | null | undefined;
}

export interface CardChange {
  readonly id: string;
  step(card: Card | undefined): Card | undefined;
}

/** What becomes true together, or not at all. */
export interface Changes {
  readonly values?: readonly ValueChange[];
  readonly card?: CardChange | undefined;
  /** Written where the last of them really changes something: a change that is repeated is not told twice. */
  readonly notes?: readonly PendingEntry[];
}

/** `refused`: a step said no, or it does not fit. `away`: nobody can say more now. */
export type Changed =
  | { readonly status: 'committed' }
  | { readonly status: 'rejected'; readonly full: boolean }
  | { readonly status: 'unavailable'; readonly reason: string };

export type EntryListener = (entry: Entry) => void;

/** Carries out changes. What was written into the journal because of them is told. */
export async function change(store: Store, changes: Changes, onEntry: EntryListener = () => {}): Promise<Changed> {
  const { shared } = store;
  if (shared === undefined) return changeHere(store, changes, onEntry);
  const { values = [], card, notes = [] } = changes;
  const all: Change[] = values.map(({ key, keepMs, step: updateValue }) => ({
    cell: store.cell<Kept<unknown>>(key, () => ({ value: null }), keepMs === undefined ? {} : { keepMs }),
    update: (state) => nextOf((state as Kept<unknown>).value, updateValue, (value) => ({ value })),
  }));
  if (card !== undefined) {
    store.card(card.id); // Opens it as the store wants its cards to be seen.
    all.push({
      cell: store.cell<Card | null>(`card/${card.id}`, () => null),
      update: (state) => nextOf((state ?? undefined) as Card | undefined, card.step, (next) => next),
    });
  }
  const last = all.pop();
  if (last === undefined) return { status: 'committed' };
  all.push({
    cell: last.cell,
    update(state) {
      const next = last.update(state);
      return typeof next === 'object' ? { ...next, entries: notes } : next;
    },
  });
  const result = await shared.commit({ changes: all, onCommitted: (entries) => entries.forEach(onEntry) });
  for (const { key, letGo } of values) if (letGo) shared.evict?.(key);
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

function nextOf<T>(before: T, step: (value: T) => T | undefined, stateOf: (next: T) => unknown): CellUpdate<unknown> {
  const next = step(before);
  if (next === undefined) return 'refuse';
  return next === before ? 'keep' : { state: stateOf(next) };
}

function changeHere(store: Store, { values = [], card, notes = [] }: Changes, onEntry: EntryListener): Changed {
  const before = values.map(({ key }) => valueHere(store, key));
  const next = values.map(({ step: updateValue }, at) => updateValue(before[at]));
  const shown = card && store.card(card.id);
  const turned = card?.step(shown);
  if (next.includes(undefined) || (card !== undefined && turned === undefined))
    return { status: 'rejected', full: false };
  values.forEach(({ key }, at) => {
    cellHere(store, key).value = next[at];
  });
  if (turned !== undefined && turned !== shown) store.putCard(turned);
  const isNew = card === undefined ? next.at(-1) !== before.at(-1) : turned !== shown;
  if (isNew) for (const { body, place, atMs } of notes) onEntry(store.append(body, place, atMs));
  return { status: 'committed' };
}

function cellHere(store: Store, key: string): Kept<unknown> {
  return store.cell<Kept<unknown>>(key, () => ({ value: null })).state;
}

/** A look leaves no empty cell behind. */
function valueHere(store: Store, key: string): unknown {
  const { value } = cellHere(store, key);
  if (value === null) store.drop(key);
  return value;
}

/** The value under a key, as the store has it now. */
export async function readValue<T>(store: Store, key: string): Promise<T | undefined> {
  if (store.shared === undefined) return (valueHere(store, key) ?? undefined) as T | undefined;
  const found = (await readValues<T>(store, key, 1)).find((each) => each.key === key);
  return found?.value;
}

/** Every value whose key begins so. */
export async function readValues<T>(
  store: Store,
  prefix: string,
  most: number,
): Promise<readonly { readonly key: string; readonly value: T }[]> {
  const stored =
    store.shared === undefined
      ? [...store.keys()]
          .filter((key) => key.startsWith(prefix))
          .map((key) => ({ key, state: cellHere(store, key) as unknown }))
      : await store.shared.read(prefix, most);
  return stored.flatMap(({ key, state }) => {
    const { value } = (state ?? { value: null }) as Kept<T>;
    return value === null || value === undefined ? [] : [{ key, value }];
  });
}
