/**
 * Computes fingerprints: equal values give equal numbers, in any order of keys, in one bounded pass. Never 0, never
 * throws.
 */

import type { Action } from '../../core/action.ts';
import { readEffect, unknownEffect, unwrapShell } from '../../core/controls/loop/effect.ts';
import { markResult, type ResultMark } from '../../core/controls/loop/result-mark.ts';
import { textOf } from '../../core/foreign-text.ts';
import {
  commandLengthMax,
  fingerprintDepthMax,
  fingerprintEntriesMax,
  fingerprintLengthMax,
} from '../../core/limits.ts';

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

/** What a call does to the world, with marks in place of the texts of an edit; undefined if it may change something. */
export function markEffect(
  tool: string,
  input: unknown,
): Pick<Action, 'effect' | 'edit' | 'searches' | 'waits'> | undefined {
  const found = readEffect(tool, input);
  const { edit } = found;
  if (edit === undefined) return found === unknownEffect ? undefined : (found as Omit<typeof found, 'edit'>);
  const stateAfter = hashWhole(edit.after);
  const marks = edit.before === undefined ? { stateAfter } : { stateBefore: hashWhole(edit.before), stateAfter };
  return { effect: 'change', edit: marks };
}

/** Matches fields that differ between equal calls. */
const volatile =
  /^(_meta|nonce|timestamp|traceparent|(request|trace|span|correlation|idempotency|tool_?call)_?(id|key))$/i;

/** Matches fields that hold a command or a program, and fields that describe one in words. */
const commandField = /^(command|cmd|script|code|source|bash|shell|sql|query)$/i;
const describingField = /^(description|explanation|reason|comment|intent|purpose)$/i;

type FieldKind = 'volatile' | 'command' | 'describing';

const fieldNames = [
  ['volatile', volatile],
  ['command', commandField],
  ['describing', describingField],
] as const;
/** Longer names are none of those above. */
const fieldLengthMax = 40;

/** The kinds of field names that were looked up. */
const fieldKinds = new Map<string, FieldKind | undefined>();

function kindOfField(name: string): FieldKind | undefined {
  if (name.length > fieldLengthMax) return undefined;
  if (fieldKinds.has(name)) return fieldKinds.get(name);
  if (fieldKinds.size >= fingerprintEntriesMax) fieldKinds.clear();
  const kind = fieldNames.find(([, names]) => names.test(name))?.[0];
  fieldKinds.set(name, kind);
  return kind;
}

/**
 * The fingerprint of a call without what differs between equal calls, or undefined if there is nothing of it: request
 * ids; and of a command its comments, blanks and descriptions.
 */
export function callKey(name: string, value: unknown): number | undefined {
  try {
    const fields = Array.isArray(value) ? value[0] : value;
    if (typeof fields === 'string') return commandKey(name, value, fields);
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields) || ArrayBuffer.isView(fields)) return;
    const keys = listKeys(fields);
    if (keys.length > fingerprintEntriesMax) return undefined;
    let kept: Record<string, unknown> | undefined;
    const hasCommand = keys.some((key) => kindOfField(key) === 'command');
    for (const key of keys) {
      const kind = kindOfField(key);
      if (kind === undefined || (kind === 'describing' && !hasCommand)) continue;
      const read = kind === 'command' ? (fields as Readonly<Record<string, unknown>>)[key] : undefined;
      const bare = kind === 'command' ? bareCommand(read) : undefined;
      if (kind === 'command' && bare === read) continue;
      kept ??= { ...(fields as Readonly<Record<string, unknown>>) };
      if (kind === 'command') kept[key] = bare;
      else delete kept[key];
    }
    if (kept === undefined) return undefined;
    return fingerprint(name, Array.isArray(value) ? [kept, ...value.slice(1)] : kept);
  } catch {
    return undefined; // The value cannot be inspected, so it is compared as a whole.
  }
}

/** The key of a call whose first argument is a text with a name of a shell tool. */
function commandKey(name: string, value: unknown, command: string): number | undefined {
  if (!/^(bash|shell|exec|run_command|run_shell_command|python|sql)$/i.test(name)) return undefined;
  const bare = bareCommand(command);
  if (bare === command) return undefined;
  return fingerprint(name, Array.isArray(value) ? [bare, ...value.slice(1)] : bare);
}

/** A command, or the words of one, without comments and extra blanks. */
function bareCommand(value: unknown): unknown {
  if (typeof value === 'string') return removeComments(value.length > commandLengthMax ? value : unwrapShell(value));
  if (!Array.isArray(value) || value.length > fingerprintEntriesMax) return value;
  const words = value.map((word: unknown) => (typeof word === 'string' ? removeComments(word) : word));
  return words.every((word, at) => word === value[at]) ? value : words;
}

/** Removes comments after `#`, outside quotes, and makes each run of blanks one. A long text stays as it is. */
function removeComments(text: string): string {
  if (text.length > commandLengthMax || !/#|\s\s|^\s|\s$|[^\S ]/.test(text)) return text;
  let bare = '';
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (quote !== '') {
      bare += character;
      if (character === quote) quote = '';
    } else if (character === '#' && (at === 0 || /[\s;]/.test(text[at - 1]!))) {
      const end = text.indexOf('\n', at);
      if (end < 0) break;
      at = end - 1;
    } else if (/\s/.test(character)) {
      if (bare !== '' && !bare.endsWith(' ')) bare += ' ';
    } else {
      if (character === '"' || character === "'") quote = character;
      bare += character;
    }
  }
  return bare.trimEnd();
}

/** The own keys of the last object with very many keys: an engine takes half a second to list a million of them. */
let lastMany: { readonly of: WeakRef<object>; readonly keys: readonly string[] } | undefined;

/** The own enumerable keys of an object, the first ten thousand of them. */
export function listKeys(value: object): readonly string[] {
  if (lastMany?.of.deref() === value) return lastMany.keys;
  const keys = Object.keys(value);
  if (keys.length <= manyKeys) return keys;
  lastMany = { of: new WeakRef(value), keys: keys.slice(0, manyKeys) };
  return lastMany.keys;
}

const manyKeys = 10_000;

function mix(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

function hashText(text: string, seed: number, length: number): number {
  let hash = seed;
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), prime);
  return hash;
}

/** Hashes a whole text: two versions of a file may differ in one character. */
function hashWhole(text: string): number {
  return mix(hashText(text, basis, text.length), text.length) | 0 || 1;
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
      return hashString(textOf(value), allowance);
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
  const keys = listKeys(value);
  for (let at = 0; at < keys.length && allowance.entries-- > 0; at++) {
    const key = keys[at]!;
    const looked = Math.min(key.length, 64);
    const entry = mix(hashText(key, basis, looked), walk((value as Record<string, unknown>)[key], allowance, depth));
    sum = (sum + entry) | 0;
  }
  return mix(sum, keys.length);
}

/** The mark of an error by its name and text. */
export function errorMark(name: string, message: string): ResultMark {
  return markResult(`${name} ${message}`, false)!;
}
