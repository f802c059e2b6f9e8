/**
 * Reads values of agents, tools, servers and files as text, and cleans text for terminals and logs. Every function
 * here is total: it accepts any value, never throws, and stops at its bounds.
 */

import { foreignDepthMax, foreignEntriesMax, foreignKeysMax, foreignTextMax } from './limits.ts';

/** The bounds of one read. */
export interface ReadBounds {
  /** Characters of the text. @default 4096 */
  readonly characters?: number;
  /** Levels of nested lists and objects. @default 16 */
  readonly depth?: number;
  /** Values that are visited, over all levels: a part that is shared counts each time. @default 1000 */
  readonly entries?: number;
}

/** The rest of the bounds. */
interface Remaining {
  characters: number;
  entries: number;
  keys: number;
}

const unreadable = '[unreadable]';
const omitted = '…';
/** Stands for a property whose getter throws. */
const unreadableValue = Symbol('unreadable');

/**
 * The text of any value: a string as it is, an object as one line of JSON, an error as name and message. A text that
 * reaches a bound is cut and ends with `…`. Getters and proxies run once per visited value; `toString`, `toJSON` and
 * `then` of the value do not run.
 */
export function textOf(value: unknown, bounds: ReadBounds = {}): string {
  const { characters = foreignTextMax, depth = foreignDepthMax, entries = foreignEntriesMax } = bounds;
  const left: Remaining = { characters, entries, keys: foreignKeysMax };
  const text = typeof value === 'string' ? value : formatValue(value, left, depth);
  return text.length > characters ? `${sliceWhole(text, characters)}${omitted}` : text;
}

/** The beginning of a text; a character of two code units is not split. */
export function sliceWhole(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff && text.length > length ? length - 1 : length);
}

/** The own enumerable keys of a value, at most `max`; empty if they cannot be read or are more than may be listed. */
function listKeys(value: object, max: number, left: { keys: number }): readonly string[] {
  // An engine lists all keys before it returns the first, so the sum over all listed objects has a bound as well.
  if (left.keys <= 0) return [];
  try {
    const keys = Object.keys(value);
    left.keys -= keys.length;
    return keys.length > max ? keys.slice(0, max) : keys;
  } catch {
    return [];
  }
}

function formatValue(value: unknown, left: Remaining, depth: number): string {
  if (left.characters <= 0 || left.entries-- <= 0) return omitted;
  try {
    return typeof value === 'object' && value !== null
      ? formatObject(value, left, depth)
      : take(left, formatScalar(value, left.characters));
  } catch {
    return take(left, unreadable); // A getter or a proxy that throws.
  }
}

function formatScalar(value: unknown, room: number): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > room ? `${sliceWhole(value, room)}${omitted}` : value);
    case 'bigint':
      // The digits of a huge number take seconds to compute.
      return value < 1n << 256n && value > -(1n << 256n) ? `${value}` : '[big integer]';
    case 'function':
      return '[function]';
    case 'symbol':
      return value === unreadableValue ? unreadable : '[symbol]';
    default:
      return String(value);
  }
}

function formatObject(value: object, left: Remaining, depth: number): string {
  if (depth <= 0) return take(left, omitted);
  if (ArrayBuffer.isView(value)) return take(left, `[${value.byteLength} bytes]`);
  if (Array.isArray(value)) return formatList(value, left, depth);
  if (isError(value)) return take(left, formatError(value, left.characters));
  return formatFields(value as Readonly<Record<string, unknown>>, left, depth);
}

function formatList(list: readonly unknown[], left: Remaining, depth: number): string {
  const { length } = list;
  const items: string[] = [];
  take(left, '[]');
  for (let at = 0; at < length; at++) {
    if (left.characters <= 0 || left.entries <= 0) {
      items.push(omitted);
      break;
    }
    take(left, ',');
    items.push(formatValue(readItem(list, at), left, depth - 1));
  }
  return `[${items.join(',')}]`;
}

function formatFields(fields: Readonly<Record<string, unknown>>, left: Remaining, depth: number): string {
  const parts: string[] = [];
  take(left, '{}');
  for (const key of listKeys(fields, left.entries + 1, left)) {
    if (left.characters <= 0 || left.entries <= 0) {
      parts.push(omitted);
      break;
    }
    const name = take(left, `${formatScalar(key, left.characters)}:`);
    parts.push(`${name}${formatValue(readItem(fields, key), left, depth - 1)}`);
  }
  return `{${parts.join(',')}}`;
}

function readItem(value: object, key: string | number): unknown {
  try {
    return (value as Readonly<Record<string | number, unknown>>)[key];
  } catch {
    return unreadableValue;
  }
}

/** Whether a value is an error, of this realm or another. */
function isError(value: object): boolean {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}

function formatError(error: object, room: number): string {
  const name = readItem(error, 'name');
  const message = readItem(error, 'message');
  const words = [name, message].filter((word) => typeof word === 'string' && word !== '') as string[];
  return words.map((word) => sliceWhole(word, room)).join(': ');
}

function take(left: Remaining, text: string): string {
  left.characters -= text.length;
  return text;
}

/**
 * Characters that steer a terminal, reorder a line or start a new one: controls of C0 and C1 (and so every escape
 * sequence), format characters (and so every bidirectional one), line and paragraph separators, and halves of
 * surrogate pairs.
 */
function hasSteering(text: string): boolean {
  // Inside the function, as classes of characters take a while to build: most hooks print nothing.
  return /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(text);
}

/** Cleans foreign text for one line of a terminal or log: each run of steering characters becomes a dot, or `mark`. */
export function cleanLine(text: string, mark = '·'): string {
  return hasSteering(text) ? text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, mark) : text;
}

/**
 * Cleans text of several lines, foreign or not, right before it leaves for a terminal or log: a steering character
 * except line feed and tab becomes its escape `\uXXXX`, so that JSON stays JSON with the same values.
 */
export function cleanLines(text: string): string {
  if (!hasSteering(text)) return text;
  return text.replaceAll(/[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, escapeCharacter);
}

function escapeCharacter(character: string): string {
  let escaped = '';
  for (let at = 0; at < character.length; at++)
    escaped += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return escaped;
}
