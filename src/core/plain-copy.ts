/** Copies an untrusted document into bounded plain data, and describes values safely. */

import { policyDepthMax, policyEntriesMax, quoteLengthMax } from './limits.ts';
import { shorten } from './names.ts';

/** A table of a document, without a prototype: no inherited names. */
export type Table = Record<string, unknown>;

// Stands for an object that is not plain data (a date, a map, an instance); every check refuses it.
const foreign = Symbol('foreign');

/** Names that could reach a prototype; no setting uses them. */
export const reservedNames: readonly string[] = ['__proto__', 'constructor', 'prototype'];

/** Creates a table without a prototype. */
export function emptyTable(): Table {
  return Object.create(null);
}

/** Copies own enumerable data, or returns why it cannot. Getters run here, once, and may throw. */
export function plainCopy(input: unknown): { readonly value: unknown } | { readonly reason: string } {
  let left = policyEntriesMax;
  let reason = 'reading it failed';
  const copy = (value: unknown, depth: number): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (depth > policyDepthMax) {
      reason = `it is nested deeper than ${policyDepthMax} levels`;
      throw reason;
    }
    const spend = () => {
      if (left-- > 0) return;
      reason = `it has more than ${policyEntriesMax} entries`;
      throw reason;
    };
    if (Array.isArray(value)) {
      const list: unknown[] = [];
      for (let index = 0; index < value.length; index++) {
        spend();
        list.push(copy(value[index], depth + 1));
      }
      return list;
    }
    if (!isPlainObject(value)) return foreign;
    const table = emptyTable();
    for (const key of Object.keys(value)) {
      spend();
      table[key] = copy((value as Table)[key], depth + 1);
    }
    return table;
  };
  try {
    return { value: copy(input, 0) };
  } catch {
    return { reason };
  }
}

/** Whether an object is plain data, of this realm or another: no date, map or instance of a class. */
export function isPlainObject(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype === null) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'hasOwnProperty');
}

/** Whether a copied value is a table. */
export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Describes a value for a message: short, the beginning only. Safe for any value. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(shorten(value, quoteLengthMax));
  if (typeof value === 'bigint') return 'a big integer';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'an object that is not plain data';
  try {
    if (Array.isArray(value)) return value.length ? `a list of ${value.length}` : 'an empty list';
    return isTable(value) ? 'a table' : String(value);
  } catch {
    return 'something that cannot be read'; // A revoked proxy.
  }
}
