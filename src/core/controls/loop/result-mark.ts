/** Computes marks of results: equal for equal results, without content. */

import { fingerprintDepthMax, fingerprintEntriesMax, markLengthMax } from '../../limits.ts';

/** The features of one result that the loop control compares. */
export interface ResultMark {
  readonly ok: boolean;
  /** Equal for results that differ in ids, times and durations only. */
  readonly exact: number;
  /** Equal for results that also differ in numbers and quoted parts only. */
  readonly loose: number;
  readonly length: number;
  /** A failure that waiting may fix (429, 5xx, a timeout), left to the breaker. */
  readonly retryable?: boolean;
}

const prime = 0x01000193;
const basis = 0x811c9dc5 | 0;
const quotedMax = 120;
const tailLength = 512;
/** Characters of a text that are read even if earlier texts used up the allowance. */
const shareMin = 64;
/** Entries at either end of a long list that are read. */
const listEnds = 64;
const blank = 35;

/** The classes of characters in words. */
const [letter, digit, joint, quote, space] = [1, 2, 3, 4, 5] as const;
const kinds = new Uint8Array(128);
kinds.fill(letter, 65, 91); // A to Z
kinds.fill(letter, 97, 123); // a to z
kinds.fill(digit, 48, 58); // 0 to 9
kinds.fill(space, 9, 14);
kinds[32] = space;
kinds[95] = letter; // _
for (const char of '.:+-') kinds[char.charCodeAt(0)] = joint;
for (const char of '"\'`') kinds[char.charCodeAt(0)] = quote;

/** Hexadecimal ids, dates, times and durations: they change from call to call. */
const volatileWord =
  /^(0x[\da-f]+|[\da-f]{7,}|[\da-f]{8}(-[\da-f]{4,12}){4}|\d{4}-\d\d-\d\d(t.*)?|\d\d?:\d\d.*|[\d.]+[mun]?s(ec.*)?)$/i;
const unitAfter = /^ ([mun]?s|secs?|seconds?|mins?|minutes?)\b/;

/** The hashes of a value while it is walked. */
interface HashWalk {
  exact: number;
  loose: number;
  length: number;
  entries: number;
  /** Whether the value has words other than ids and times. */
  hasStableWords: boolean;
  /** Whether ids and times are hashed, too: used if the value has nothing else. */
  readonly raw: boolean;
  retryable: boolean;
}

/** Hashes a text. A long text counts by its beginning, end and length. */
function addText(walk: HashWalk, text: string, ok: boolean): void {
  const { length } = text;
  const available = Math.max(markLengthMax - walk.length, shareMin);
  if (length <= available) scanText(walk, text, 0, length);
  else {
    const tail = Math.min(tailLength, available >> 1);
    scanText(walk, text, 0, available - tail);
    scanText(walk, text, length - tail, length);
    walk.exact = Math.imul(walk.exact ^ length, prime);
  }
  walk.length += length;
  if (!ok && retryableWords.test(text.slice(0, retryableLength))) walk.retryable = true;
}

function scanText(walk: HashWalk, text: string, start: number, end: number): void {
  let { exact, loose, hasStableWords } = walk;
  let quoteEnd = 0;
  for (let at = start; at < end; ) {
    const code = text.charCodeAt(at);
    const kind = code < 128 ? kinds[code]! : letter;
    if (kind === letter || kind === digit) {
      let word = basis;
      let digits = 0;
      let plain = true;
      let stop = at;
      for (; stop < end; stop++) {
        const next = text.charCodeAt(stop);
        const nextKind = next < 128 ? kinds[next]! : letter;
        if (nextKind === digit) digits++;
        else if (nextKind === letter || (nextKind === joint && next !== 46)) plain = false;
        else if (nextKind !== joint) break;
        word = Math.imul(word ^ (next | 32), prime);
      }
      if (at >= quoteEnd) loose = Math.imul(loose ^ (digits === 0 ? word : blank), prime);
      const varies =
        digits > 0 &&
        !walk.raw &&
        (plain ? hasUnit(text, stop) : volatileWord.test(text.slice(at, Math.min(stop, at + 64))));
      if (!varies) hasStableWords = true;
      exact = Math.imul(exact ^ (varies ? blank : word), prime);
      at = stop;
      continue;
    }
    if (kind === quote && at >= quoteEnd) {
      const close = text.indexOf(text[at]!, at + 1);
      if (close > at + 1 && close - at <= quotedMax && close < end) {
        quoteEnd = close + 1;
        loose = Math.imul(loose ^ blank, prime);
      }
    }
    if (kind !== space) {
      exact = Math.imul(exact ^ code, prime);
      if (at >= quoteEnd) loose = Math.imul(loose ^ code, prime);
    }
    at++;
  }
  walk.exact = exact;
  walk.loose = loose;
  walk.hasStableWords = hasStableWords;
}

function hasUnit(text: string, at: number): boolean {
  return text.charCodeAt(at) === 32 && unitAfter.test(text.slice(at, at + 10));
}

/** Words of errors that waiting may fix, and how much of a text is searched for them. */
const retryableLength = 300;
const retryableWords =
  /(^|HTTP\S*|status|code|error)\W{0,3}(429|50[0-4]|529)\b|rate.?limit|too many req|time(d ?)?out|overload|ECONNRE/i;

/** Marks a result or an error; undefined if it is unreadable. Never throws. */
export function markResult(value: unknown, ok: boolean): ResultMark | undefined {
  try {
    let walk = walkRoot(value, ok, false);
    // Only ids or times: hash them after all.
    if (!walk.hasStableWords) walk = walkRoot(value, ok, true);
    const { exact, loose, length, retryable } = walk;
    // 0 means "not computed".
    return { ok, exact: exact || 1, loose: loose || 1, length, ...(retryable && { retryable }) };
  } catch {
    return undefined; // The value throws when read, or shows no content.
  }
}

function walkRoot(value: unknown, ok: boolean, raw: boolean): HashWalk {
  const entries = fingerprintEntriesMax;
  const walk = { exact: basis, loose: basis ^ 1, length: 0, entries, hasStableWords: false, raw, retryable: false };
  walkValue(value, walk, ok, 0);
  return walk;
}

function walkValue(value: unknown, walk: HashWalk, ok: boolean, depth: number): void {
  walk.entries--;
  if (typeof value !== 'object' || value === null) addText(walk, typeof value === 'function' ? '' : String(value), ok);
  else if (value instanceof Error) addText(walk, `${value.name} ${value.message}`, ok);
  else if (depth < fingerprintDepthMax) {
    if (Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value)) {
      walkList(value as ArrayLike<unknown>, walk, ok, depth);
    } else walkFields(value as Readonly<Record<string, unknown>>, walk, ok, depth);
  }
}

/** Hashes a long list by its first and last entries, read by index: listing all keys would exhaust memory. */
function walkList(list: ArrayLike<unknown>, walk: HashWalk, ok: boolean, depth: number): void {
  const { length } = list;
  addNumbers(walk, length + 7, length + 7);
  const skipped = Math.max(length - 2 * listEnds, 0);
  for (let at = 0; at < length - skipped && walk.entries > 0; at++) {
    walkValue(list[at < listEnds ? at : at + skipped], walk, ok, depth + 1);
  }
}

function walkFields(fields: Readonly<Record<string, unknown>>, walk: HashWalk, ok: boolean, depth: number): void {
  const keys = Object.keys(fields);
  if (keys.length === 0 && !isPlain(fields)) {
    // A date has a text; a map or a response has no content and throws here.
    walkValue((fields as { toJSON(): unknown }).toJSON(), walk, ok, depth + 1);
    return;
  }
  addNumbers(walk, keys.length + 7, 7);
  for (const key of keys) {
    if (walk.entries <= 0) return;
    const { hasStableWords } = walk;
    scanText(walk, key, 0, Math.min(key.length, shareMin));
    walk.hasStableWords = hasStableWords; // Keys are stable words whatever the values are, so they do not count.
    walkValue(fields[key], walk, ok, depth + 1);
  }
}

function isPlain(value: object): boolean {
  const proto: unknown = Object.getPrototypeOf(value);
  return proto === null || Object.getPrototypeOf(proto) === null;
}

function addNumbers(walk: HashWalk, exact: number, loose: number): void {
  walk.exact = Math.imul(walk.exact ^ exact, prime) ^ (walk.exact >>> 15);
  walk.loose = Math.imul(walk.loose ^ loose, prime) ^ (walk.loose >>> 15);
}
