/**
 * Writes the arguments of a call for a person who is asked about the call: one bounded line, secrets masked by kind and
 * length, characters that steer a terminal or cannot be seen written as escapes. Never throws.
 */

import { isMatch } from '../../core/glob.ts';
import { shownDepthMax, shownEntriesMax, shownInputMax, shownTextMaxima, shownWorkMax } from '../../core/limits.ts';
import { isSecretFlag, isSecretName, maskSecrets } from '../../core/secret-shapes.ts';
import { isHandle } from './handle-values.ts';

/** The state of one pass over the arguments. */
interface Pass {
  /** Names of fields whose values are masked. `*` = any characters. */
  readonly hiddenNames: readonly string[];
  /** The most characters of one text. */
  readonly textMax: number;
  readonly isProxy: (value: unknown) => boolean;
  /** Objects that contain the current value. */
  readonly open: Set<object>;
  entries: number;
  /** Characters that are still searched for secrets. */
  work: number;
}

/** The arguments as one line. `hiddenNames` are fields that the policy masks, beside those that look like secrets. */
export function showInput(args: readonly unknown[], hiddenNames: readonly string[] = []): string {
  const { types } = process.getBuiltinModule('node:util');
  let line = '';
  // Shorter texts in each pass, so that a long argument leaves room for those after it.
  for (const textMax of shownTextMaxima) {
    const pass: Pass = {
      hiddenNames,
      textMax,
      isProxy: types.isProxy,
      open: new Set(),
      entries: shownEntriesMax,
      work: shownWorkMax,
    };
    line = showList(pass, args, 0);
    if (line.length <= shownInputMax) return line;
  }
  return `${line.slice(0, shownInputMax)}… [${line.length - shownInputMax} characters not shown]`;
}

/** The sentence of a question about its input; undefined for a call without arguments. */
export function formatInputLine(input: string): string | undefined {
  return input === '' || input === '{}' ? undefined : `with ${input}`;
}

function showValue(pass: Pass, value: unknown, depth: number): string {
  if (pass.entries-- <= 0) return '[not shown]';
  switch (typeof value) {
    case 'string':
      return showText(pass, value);
    case 'bigint':
      return `${String(value).slice(0, pass.textMax)}n`;
    case 'symbol':
      return `[symbol ${showText(pass, value.description ?? '')}]`;
    case 'function':
      return '[function: not shown]';
    case 'object':
      return value === null ? 'null' : showObject(pass, value, depth);
    default:
      return Object.is(value, -0) ? '-0' : String(value);
  }
}

function showText(pass: Pass, text: string): string {
  const { textMax } = pass;
  const window = Math.max(2 * textMax, 400); // The end of a secret may be after the cut.
  if (pass.work <= 0) return `[text of ${text.length} characters: not shown]`;
  pass.work -= Math.min(text.length, 2 * window);
  const tailMax = textMax >> 2;
  const isShort = text.length <= 2 * window;
  const head = maskText(isShort ? text : text.slice(0, window));
  if (isShort && head.length <= textMax) return quote(head);
  const tail = isShort ? head : maskText(text.slice(-window));
  const left = isShort ? head.length - textMax : text.length - textMax;
  return quote(
    `${head.slice(0, textMax - tailMax)}… [${left} characters not shown] …${tail.slice(tail.length - tailMax)}`,
  );
}

function quote(text: string): string {
  return escapeUnseen(JSON.stringify(text));
}

/** Writes characters without a picture of their own, and spaces that are none of the keyboard, as escapes. */
function escapeUnseen(text: string): string {
  // Inside the function, as classes of characters take a while to build: most hooks show nothing.
  const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|(?! )\p{Zs}/gu;
  return text.replaceAll(unseen, (character) => {
    const code = character.codePointAt(0)!;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

function maskText(text: string): string {
  return maskSecrets(text, (kind, secret) => hide(kind, secret));
}

/** Words that run something, which nobody may hide behind the name of a secret. */
const command = /\$\(|`|\$\{|[<>]\(|[|;&<>]\s|\s[|;&<>]|[\r\n]/;
/** Further values of a cookie header. */
const cookieValue = /;\s*[\w.-]+=[^\s;|&`$]*/g;

function hide(kind: string, secret: string): string {
  if (secret.includes('[hidden:')) return secret; // An earlier shape has masked it.
  const isPlain = kind === 'private key' || !command.test(secret.replaceAll(cookieValue, ''));
  return isPlain ? `[hidden: ${kind}, ${secret.length} characters]` : secret;
}

function showObject(pass: Pass, value: object, depth: number): string {
  try {
    if (pass.open.has(value)) return '[cycle]';
    if (depth >= shownDepthMax) return '[deeper levels not shown]';
    pass.open.add(value);
    const shown = pass.isProxy(value) ? `[proxy] ${showContent(pass, value, depth)}` : showContent(pass, value, depth);
    pass.open.delete(value);
    return shown;
  } catch {
    return '[unreadable: not shown]'; // A revoked proxy, or a trap that throws.
  }
}

function showContent(pass: Pass, value: object, depth: number): string {
  if (Array.isArray(value)) return `[${showList(pass, value, depth + 1)}]`;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes, not shown]`;
  if (value instanceof Date) return `Date ${Number.isNaN(value.getTime()) ? 'invalid' : value.toISOString()}`;
  if (value instanceof RegExp || value instanceof URL || value instanceof URLSearchParams)
    return `${className(value)} ${showText(pass, String(value))}`;
  if (value instanceof Map) return `Map[${showList(pass, first(pass, Map.prototype.entries.call(value)), depth + 1)}]`;
  if (value instanceof Set) return `Set[${showList(pass, first(pass, Set.prototype.values.call(value)), depth + 1)}]`;
  const name = className(value);
  if (name !== 'Object' && isHandle(value)) return `[${name}: not shown]`;
  const fields = showFields(pass, value, depth);
  if (name === 'Object') return `{${fields}}`;
  // Other classes may have state that nobody can read.
  return fields === '' ? `[${name}: not shown]` : `${name}{${fields}} [hidden state not shown]`;
}

/** One item more than can be shown, so that the rest is named as not shown. */
function first(pass: Pass, items: IterableIterator<unknown>): readonly unknown[] {
  const list: unknown[] = [];
  for (const item of items) if (list.push(item) > pass.entries) break;
  return list;
}

function className(value: object): string {
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return 'Object';
  const named: unknown = Reflect.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  const name = typeof named === 'function' ? String(named.name) : '';
  return escapeUnseen(name.slice(0, 40)) || 'instance';
}

function showList(pass: Pass, list: readonly unknown[], depth: number): string {
  const items: string[] = [];
  for (let at = 0; at < list.length; at++) {
    if (pass.entries <= 0) {
      items.push(`[${list.length - at} more not shown]`);
      break;
    }
    const before = at > 0 ? list[at - 1] : undefined;
    const follows = typeof before === 'string' && before.length < 100 && isSecretFlag(before);
    items.push(follows ? showSecret(pass, list[at], depth) : showValue(pass, list[at], depth));
  }
  return items.join(depth === 0 ? ', ' : ',');
}

function showFields(pass: Pass, value: object, depth: number): string {
  const keys = Object.getOwnPropertyNames(value);
  const fields: string[] = [];
  pass.entries -= keys.length >> 10;
  for (const [at, key] of keys.entries()) {
    if (pass.entries <= 0) {
      fields.push(`[${keys.length - at} more not shown]`);
      break;
    }
    fields.push(`${showText(pass, key)}:${showField(pass, value, key, depth)}`);
  }
  return fields.join(',');
}

function showField(pass: Pass, owner: object, key: string, depth: number): string {
  const property = Reflect.getOwnPropertyDescriptor(owner, key);
  if (property === undefined) return '[not shown]';
  const isComputed = !('value' in property);
  const value: unknown = isComputed ? property.get?.call(owner) : property.value;
  const shown = isHidden(pass, owner, key) ? showSecret(pass, value, depth + 1) : showValue(pass, value, depth + 1);
  return isComputed ? `[computed] ${shown}` : shown;
}

/** Whether a field is masked by its name; an object with a name and a value counts as a field as well. */
function isHidden({ hiddenNames }: Pass, owner: object, key: string): boolean {
  const { name, key: called } = key === 'value' ? (owner as { readonly name?: unknown; readonly key?: unknown }) : {};
  return [key, name, called].some(
    (each) =>
      typeof each === 'string' &&
      each.length < 1_000 &&
      (isSecretName(each) || hiddenNames.some((pattern) => isMatch(pattern.toLowerCase(), each.toLowerCase()))),
  );
}

/** Masks a value by its kind and length. */
function showSecret(pass: Pass, value: unknown, depth: number): string {
  if (typeof value === 'string') return showText(pass, hide('secret', value));
  if (typeof value === 'number' || typeof value === 'bigint') return `[hidden: ${typeof value}]`;
  if (typeof value !== 'object' || value === null) return showValue(pass, value, depth);
  return Array.isArray(value) ? `[hidden: list of ${value.length}]` : '[hidden: object]';
}
