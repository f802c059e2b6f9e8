/**
 * Computes fingerprints: equal values give equal numbers, in any order of keys, in one bounded pass. Never 0, never
 * throws.
 */

import { markResult } from '../../core/controls/loop/result-mark.ts';
import { fingerprintDepthMax, fingerprintEntriesMax, fingerprintLengthMax } from '../../core/limits.ts';

const prime = 0x01000193;
const basis = 0x811c9dc5 | 0;

/** The remaining characters and entries of a pass. */
interface Allowance {
  characters: number;
  entries: number;
}

/** The fingerprint of a tool's name and arguments, or of a result. */
export function fingerprint(name: string, value: unknown): number {
  const allowance = { characters: fingerprintLengthMax, entries: fingerprintEntriesMax };
  try {
    return mix(hashText(name, basis, name.length), walk(value, allowance, 0)) | 0 || 1;
  } catch {
    return 1; // Unreadable values (a throwing getter, a revoked proxy) all have the same fingerprint.
  }
}

/** Matches fields that differ between equal calls. */
const volatile =
  /^(_meta|nonce|timestamp|traceparent|(request|trace|span|correlation|idempotency|tool_?call)_?(id|key))$/i;

/** The fingerprint without volatile top-level fields, or undefined if there are none. */
export function callKey(name: string, value: unknown): number | undefined {
  try {
    const fields = Array.isArray(value) ? value[0] : value;
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields) || ArrayBuffer.isView(fields)) return;
    if (!Object.keys(fields).some((key) => volatile.test(key))) return undefined;
    const kept = Object.fromEntries(Object.entries(fields).filter(([key]) => !volatile.test(key)));
    return fingerprint(name, Array.isArray(value) ? [kept, ...value.slice(1)] : kept);
  } catch {
    return undefined; // The value cannot be inspected, so it is compared as a whole.
  }
}

function mix(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

function hashText(text: string, seed: number, length: number): number {
  let hash = seed;
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), prime);
  return hash;
}

/** Hashes a text; a long text by its beginning, its end and its length. */
function hashString(text: string, allowance: Allowance): number {
  const looked = Math.min(text.length, allowance.characters);
  allowance.characters -= looked;
  if (looked === text.length) return hashText(text, basis ^ 3, looked);
  const half = looked >> 1;
  const head = hashText(text, basis ^ 3, half);
  return mix(hashText(text.slice(text.length - half), head, half), text.length);
}

function walk(value: unknown, allowance: Allowance, depth: number): number {
  switch (typeof value) {
    case 'string':
      return hashString(value, allowance);
    case 'number':
      return Number.isInteger(value) && Math.abs(value) < 0x7fff_ffff ? mix(5, value) : hashNumber(value);
    case 'boolean':
      return value ? 11 : 13;
    case 'undefined':
      return 17;
    case 'object':
      if (value === null) return 19;
      return depth >= fingerprintDepthMax ? 23 : walkObject(value, allowance, depth + 1);
    case 'bigint':
      return hashString(value.toString(), allowance);
    default:
      return 29; // Functions and symbols have no content to compare.
  }
}

function hashNumber(value: number): number {
  const text = String(value);
  return hashText(text, basis ^ 7, text.length);
}

/** Whether a value is a list or bytes, whose keys would use too much memory. */
function isList(value: object): value is readonly unknown[] {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value);
}

function walkObject(value: object, allowance: Allowance, depth: number): number {
  if (isList(value)) {
    let hash = mix(31, value.length);
    for (let at = 0; at < value.length && allowance.entries-- > 0; at++) {
      hash = mix(hash, walk(value[at], allowance, depth));
    }
    return hash;
  }
  // Entries are added up, so that the order of keys does not matter and nothing needs sorting.
  let sum = 37;
  const keys = Object.keys(value);
  for (let at = 0; at < keys.length && allowance.entries-- > 0; at++) {
    const key = keys[at]!;
    const looked = Math.min(key.length, 64);
    const entry = mix(hashText(key, basis, looked), walk((value as Record<string, unknown>)[key], allowance, depth));
    sum = (sum + entry) | 0;
  }
  return mix(sum, keys.length);
}

/** The fingerprint of an error text with numbers, ids and quoted parts blanked. */
export function errorFingerprint(name: string, message: string): number {
  return markResult(`${name} ${message}`, false)!.loose;
}
