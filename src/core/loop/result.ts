/** What a result is known by: marks that are equal for equal results, and no content. */

import { fingerprintDepthMax, fingerprintEntriesMax, markLengthMax } from '../limits.ts';

/** The features of one result that loops are found by. */
export interface ResultMark {
  readonly ok: boolean;
  /** Equal for results that are the same but for ids, times and durations. */
  readonly exact: number;
  /** Equal for results that are the same once numbers and quoted parts are blanked, too. */
  readonly loose: number;
  /** The sum of the numbers in it: a count that only grows shows progress. */
  readonly total: number;
  readonly length: number;
  /** A failure that waiting may mend (429, 5xx, a time-out): the breaker's business. */
  readonly retryable?: boolean;
}

const prime = 0x01000193;
const basis = 0x811c9dc5 | 0;
const quotedMax = 120;
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

/** Marks a text in one pass over its beginning. */
export function markText(text: string, ok = true): ResultMark {
  const end = Math.min(text.length, markLengthMax);
  let exact = basis;
  let loose = basis ^ 1;
  let total = 0;
  let quoteEnd = -1;
  for (let at = 0; at < end; ) {
    const code = text.charCodeAt(at);
    const kind = code < 128 ? kinds[code]! : letter;
    if (kind === letter || kind === digit) {
      let word = basis;
      let value = 0;
      let digits = 0;
      let plain = true;
      let stop = at;
      for (; stop < end; stop++) {
        const next = text.charCodeAt(stop);
        const nextKind = next < 128 ? kinds[next]! : letter;
        if (nextKind === digit) {
          digits++;
          value = value * 10 + next - 48;
        } else if (nextKind === letter || (nextKind === joint && next !== 46)) plain = false;
        else if (nextKind !== joint) break;
        word = Math.imul(word ^ (next | 32), prime);
      }
      if (digits === 0) {
        if (at >= quoteEnd) loose = Math.imul(loose ^ word, prime);
      } else {
        if (at >= quoteEnd) loose = Math.imul(loose ^ blank, prime);
        const varies = plain ? hasUnit(text, stop) : volatileWord.test(text.slice(at, Math.min(stop, at + 64)));
        if (varies) word = blank;
        else if (plain && digits < 16) total += value;
      }
      exact = Math.imul(exact ^ word, prime);
      at = stop;
      continue;
    }
    if (kind === quote && at >= quoteEnd) {
      const close = text.indexOf(text[at]!, at + 1);
      if (close > at + 1 && close - at <= quotedMax && close < end) {
        quoteEnd = close;
        loose = Math.imul(loose ^ blank, prime);
      }
    }
    if (kind !== space) {
      exact = Math.imul(exact ^ code, prime);
      if (at >= quoteEnd) loose = Math.imul(loose ^ code, prime);
    }
    at++;
  }
  // A long text counts by its beginning and its length.
  if (end < text.length) exact = Math.imul(exact ^ text.length, prime);
  return { ok, exact: exact | 0 || 1, loose: loose | 0 || 1, total, length: text.length };
}

function hasUnit(text: string, at: number): boolean {
  return text.charCodeAt(at) === 32 && unitAfter.test(text.slice(at, at + 10));
}

/** Words of errors that waiting may mend. */
const retryableWords =
  /\b(429|50[0-4]|529)\b|rate.?limit|too many requests|time(d ?)?out|overloaded|temporarily unavail|ECONNRE/i;

/** Whether an error text asks for patience rather than for another way. */
function isRetryable(text: string): boolean {
  return retryableWords.test(text.slice(0, 300));
}

/** Marks a result, or an error, whatever it is. It never throws. */
export function markValue(value: unknown, ok: boolean): ResultMark {
  if (typeof value === 'string') return ok ? markText(value) : failed(markText(value, false), value);
  try {
    if (value instanceof Error) return failed(markText(`${value.name} ${value.message}`, false), value.message);
    const walk: Walk = { exact: basis, loose: basis ^ 1, total: 0, length: 0, entries: fingerprintEntriesMax };
    walkValue(value, walk, 0);
    const { exact, loose, total, length } = walk;
    return { ok, exact: exact | 0 || 1, loose: loose | 0 || 1, total, length };
  } catch {
    return { ok, exact: 1, loose: 1, total: 0, length: 0 }; // A hostile value is like any other of its kind.
  }
}

function failed(mark: ResultMark, text: string): ResultMark {
  return isRetryable(text) ? { ...mark, retryable: true } : mark;
}

interface Walk {
  exact: number;
  loose: number;
  total: number;
  length: number;
  entries: number;
}

function walkValue(value: unknown, walk: Walk, depth: number): void {
  if (walk.entries-- <= 0 || walk.length >= markLengthMax) return;
  if (typeof value === 'object' && value !== null) {
    if (depth >= fingerprintDepthMax) return;
    const keys = Object.keys(value);
    add(walk, keys.length + 7, Array.isArray(value) ? keys.length + 7 : 7);
    for (const key of keys) {
      if (walk.entries <= 0) return;
      if (!Array.isArray(value)) {
        const { exact } = markText(key);
        add(walk, exact, exact);
      }
      walkValue((value as Record<string, unknown>)[key], walk, depth + 1);
    }
    return;
  }
  if (typeof value === 'number') {
    walk.total += Number.isFinite(value) ? value : 0;
    walk.length += 8;
    add(walk, Math.imul(value * 1024, prime), blank);
    return;
  }
  const { exact, loose, total, length } = markText(typeof value === 'function' ? '' : String(value));
  walk.total += total;
  walk.length += length;
  add(walk, exact, loose);
}

function add(walk: Walk, exact: number, loose: number): void {
  walk.exact = Math.imul(walk.exact ^ exact, prime) ^ (walk.exact >>> 15);
  walk.loose = Math.imul(walk.loose ^ loose, prime) ^ (walk.loose >>> 15);
}
