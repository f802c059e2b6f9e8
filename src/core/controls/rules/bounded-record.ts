/** A bounded record that is plain JSON and knows its size: when it is full, the oldest tenth goes at once. */

import { ruleCellsMax } from '../../limits.ts';

export interface BoundedRecord<T> {
  size: number;
  readonly items: Record<string, T>;
}

export function createBoundedRecord<T>(): BoundedRecord<T> {
  return { size: 0, items: {} };
}

/** Puts a value under a key. Keys must not be those of a prototype: ours all have a `:` or a `|` in them. */
export function putItem<T>(record: BoundedRecord<T>, key: string, value: T): T {
  if (record.items[key] === undefined) {
    if (record.size >= ruleCellsMax)
      for (const old of Object.keys(record.items).slice(0, ruleCellsMax / 10)) dropItem(record, old);
    record.size++;
  }
  record.items[key] = value;
  return value;
}

export function dropItem<T>(record: BoundedRecord<T>, key: string): void {
  if (record.items[key] === undefined) return;
  delete record.items[key];
  record.size--;
}
