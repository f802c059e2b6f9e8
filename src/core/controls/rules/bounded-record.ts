/** A bounded record in plain JSON, with its size: a full record evicts the oldest tenth at once. */

import { ruleCellsMax } from '../../limits.ts';

/** A record and its size. */
export interface BoundedRecord<T> {
  size: number;
  readonly items: Record<string, T>;
}

/** Creates an empty record. */
export function createBoundedRecord<T>(): BoundedRecord<T> {
  return { size: 0, items: {} };
}

/** Stores a value under a key. Keys must not be prototype names: every key contains a `:` or a `|`. */
export function putItem<T>(record: BoundedRecord<T>, key: string, value: T): T {
  if (record.items[key] === undefined) {
    if (record.size >= ruleCellsMax)
      for (const old of Object.keys(record.items).slice(0, ruleCellsMax / 10)) dropItem(record, old);
    record.size++;
  }
  record.items[key] = value;
  return value;
}

/** Removes a key. */
export function dropItem<T>(record: BoundedRecord<T>, key: string): void {
  if (record.items[key] === undefined) return;
  delete record.items[key];
  record.size--;
}
