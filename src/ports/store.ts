/** Where state lives: versioned cells, sums, marks, and the journal. */

import type { Card } from '../core/card.ts';
import type { Entry, EntryBody, EntryPlace } from '../core/event.ts';
import type { Clock } from './clock.ts';

/** One piece of state that many may look at; `state` is plain JSON and is changed through `transact` alone. */
export interface Cell<S = unknown> {
  readonly key: string;
  readonly state: S;
  readonly version: number;
}

export interface Reserved {
  readonly ok: boolean;
  readonly total: number;
}

/**
 * The contract of every store. A local store answers at once; a remote one keeps a local view fresh,
 * and `transact` and `add` may then answer later.
 */
export interface Store {
  readonly clock: Clock;
  /** The local view of a cell; made by `initial` where there is none. The same object for the same key. */
  cell<S>(key: string, initial: () => S): Cell<S>;
  /** Changes a cell: the step gets the current state, may write into it and returns the next one. */
  transact<S>(cell: Cell<S>, step: (state: S) => S): Cell<S>;
  /** Adds to a sum unless it would pass the ceiling. */
  add(key: string, amount: number, ceiling?: number): Reserved;
  /** Marks a moment and says how many marks lie in the window, this one included. */
  mark(key: string, atMs: number, keepMs: number, cap: number): number;
  /** The marks of a window, oldest first, without adding one. */
  marks(key: string, atMs: number, keepMs: number): readonly number[];
  /** Forgets a cell, sum or mark. */
  drop(key: string): void;
  keys(): Iterable<string>;
  append(body: EntryBody, place: EntryPlace, atMs: number): Entry;
  /** Entries from a number on, oldest first. */
  tail(fromSeq: number): readonly Entry[];
  putCard(card: Card): void;
  card(id: string): Card | undefined;
  cards(): readonly Card[];
  close(): void;
}
