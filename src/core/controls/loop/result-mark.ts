/** What a result is known by: marks that are equal for equal results, and no content. */

import { fingerprintDepthMax, fingerprintEntriesMax, markLengthMax } from '../../limits.ts';

/** The features of one result that loops are found by. */
export interface ResultMark {
  readonly ok: boolean;
  /** Equal for results that are the same but for ids, times and durations. */
  readonly exact: number;
  /** Equal for results that are the same once numbers and quoted parts are blanked, too. */
  readonly loose: number;
  readonly length: number;
  /** A failure that waiting may mend (429, 5xx, a time-out): the breaker's business. */
  readonly retryable?: boolean;
}

const prime = 0x01000193;
const basis = 0x811c9dc5 | 0;
const quotedMax = 120;
const tailLength = 512;
/** Characters of a text that are looked at even where the ones before it took all there were. */
const shareMin = 64;
/** Entries of a long list that are looked at, at either end. */
const listEnds = 64;
const blank = 35;

/** What a character is to a word. */
const [letter, digit, joint, quote, space] = [1, 2, 3, 4, 5];
const kinds = new Uint8Array(128);
for (let code = 0; code < 128; code++) {
  const char = String.fromCharCode(code);
  kinds[code] = [/\W/, /[a-z_]/i, /\d/, /[.:+-]/, /["'`]/, /\s/].findLastIndex((kind) => kind.test(char));
}

/** Ids in hexadecimal, dates and times, durations: they change although nothing has. */
const volatileWord =
  /^(0x[\da-f]+|[\da-f]{7,}|[\da-f]{8}(-[\da-f]{4,12}){4}|\d{4}-\d\d-\d\d(t.*)?|\d\d?:\d\d.*|[\d.]+[mun]?s(ec.*)?)$/i;
const unitAfter = /^ ([mun]?s|secs?|seconds?|mins?|minutes?)\b/;

/** What a value is hashed into. */
interface HashWalk {
  exact: number;
  loose: number;
  length: number;
  entries: number;
  /** Whether there are words that are no ids or times. */
  hasStableWords: boolean;
  /** Whether ids and times are told apart, too: where there is nothing else. */
  readonly raw: boolean;
  retryable: boolean;
}

/** Reads a text into a walk. A long one counts by its beginning, its end and its length. */
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

/** Words of errors that waiting may mend, and how much of a text is searched for them. */
const retryableLength = 300;
const retryableWords =
  /(^|HTTP\S*|status|code|error)\W{0,3}(429|50[0-4]|529)\b|rate.?limit|too many req|time(d ?)?out|overload|ECONNRE/i;

/** Marks a result, or an error, whatever it is; undefined where that cannot be told. It never throws. */
export function markResult(value: unknown, ok: boolean): ResultMark | undefined {
  try {
    let walk = walkRoot(value, ok, false);
    // An id or a time alone: nothing else tells one from another.
    if (!walk.hasStableWords) walk = walkRoot(value, ok, true);
    const { exact, loose, length, retryable } = walk;
    // 0 is where nobody looked.
    return { ok, exact: exact || 1, loose: loose || 1, length, ...(retryable && { retryable }) };
  } catch {
    return undefined; // A value that does not want to be looked at, or that shows nothing of itself.
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

/** A long list counts by its first and last entries, asked for one by one: all its keys would fill the memory. */
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
    // A date says what it is; a map or a response shows nothing of itself, and throws here.
    walkValue((fields as { toJSON(): unknown }).toJSON(), walk, ok, depth + 1);
    return;
  }
  addNumbers(walk, keys.length + 7, 7);
  for (const key of keys) {
    if (walk.entries <= 0) return;
    const { hasStableWords } = walk;
    scanText(walk, key, 0, Math.min(key.length, shareMin));
    walk.hasStableWords = hasStableWords; // Names are there whatever the values are.
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
