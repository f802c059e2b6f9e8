/** A bounded record that is plain JSON and knows its size: when it is full, the oldest tenth goes at once. */

import { ruleCellsMax } from '../../limits.ts';

export interface Bag<T> {
  size: number;
  readonly items: Record<string, T>;
}

export function newBag<T>(): Bag<T> {
  return { size: 0, items: {} };
}

/** Puts a value under a key. Keys must not be those of a prototype: ours all have a `:` or a `|` in them. */
export function put<T>(bag: Bag<T>, key: string, value: T): T {
  if (bag.items[key] === undefined) {
    if (bag.size >= ruleCellsMax) for (const old of Object.keys(bag.items).slice(0, ruleCellsMax / 10)) drop(bag, old);
    bag.size++;
  }
  bag.items[key] = value;
  return value;
}

export function drop<T>(bag: Bag<T>, key: string): void {
  if (bag.items[key] === undefined) return;
  delete bag.items[key];
  bag.size--;
}
