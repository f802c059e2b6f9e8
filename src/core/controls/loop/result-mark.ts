/** Computes marks of results: equal for results that differ only in what differs at random, without content. */

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
  /** Whether it says that something is not ready yet: it starts up, or is pending. */
  readonly unready?: boolean;
  /** Whether a failure says that work goes on elsewhere, such as a check that is pending: that may take long. */
  readonly pends?: boolean;
  /** The first numbers of a failure: a number that falls is progress. */
  readonly numbers?: readonly number[];
  /** The kind of a failure, in words of a fixed list. */
  readonly says?: string;
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

/** Ids of hexadecimal digits, dates, clock times and durations: they change from call to call. */
const volatileWord = new RegExp(
  [
    '^(0x[\\da-f]+|(\\w+[:-])?[\\da-f]{6,}([.]{2,3}[\\da-f]{6,})?[.:]*|[\\da-f]{8}(-[\\da-f]{4,12}){4}',
    '|\\d{4}-\\d\\d-\\d\\d(t.*)?|\\d\\d?:\\d\\d.*|([\\d.]+(h|m(in)?))?([\\d.]+[mun\\u00b5]?s(ec.*)?)[.:]*)$',
  ].join(''),
  'i',
);
const unitAfter = /^ ?([mun\u00b5]?s|secs?|seconds?|mins?|minutes?|hours?)\b/;
/** Hashes of words before a number that make the number a duration or the number of a process. */
const measureNames = new Set(
  ['pid', 'ppid', 'process', 'took', 'duration', 'elapsed', 'time', 'secs', 'seconds', 'ms']
    .flatMap((name) => [name, ...['ms', '_ms', '_secs', '_seconds'].map((unit) => `${name}${unit}`)])
    .flatMap((name) => [hashWord(name), hashWord(`${name}:`)]),
);

/** The hash of a word as `scanText` makes it. */
function hashWord(word: string): number {
  let hash = basis;
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ (word.charCodeAt(at) | 32), prime);
  return hash;
}

/** Seconds or milliseconds since 1970, from 2001 to 2033. */
const clockTime = /^1\d{9}(\d{3})?(\.\d+)?$/;
/** The rest of a path below a folder for temporary files, and a part of it that is made at random. */
const temporaryPath = /[\w.+@-]*/y;
const randomPart = /[\dA-Z]/;

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
  unready: boolean;
  pends: boolean;
  numbers: number[] | undefined;
  says: string | undefined;
}

/** Removes what a carriage return overwrites in its line, such as the earlier states of a progress bar. */
function dropOverwritten(text: string): string {
  return text
    .split('\n')
    .map((line) => {
      const end = line.endsWith('\r') ? line.length - 1 : line.length;
      return line.slice(line.lastIndexOf('\r', end - 1) + 1, end);
    })
    .join('\n');
}

/** Hashes a text. A long text counts by its beginning, end and length. */
function addText(walk: HashWalk, whole: string, ok: boolean): void {
  const text = walk.length + whole.length <= overwrittenMax && whole.includes('\r') ? dropOverwritten(whole) : whole;
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
  const head = text.length <= wordsLength ? text : text.slice(0, wordsLength);
  if (ok) {
    // Some programs hide that a command failed.
    if (length <= unreadyLength && (unreadyWords.test(head) || startingWords.test(head))) walk.unready = true;
    return;
  }
  if (retryableWords.test(head)) walk.retryable = true;
  walk.pends ||= pendingWords.test(head);
  if (walk.pends || startingWords.test(head)) walk.unready = true;
  walk.says ??= kindOfFailure(head);
}

function scanText(walk: HashWalk, text: string, start: number, end: number): void {
  let { exact, loose, hasStableWords } = walk;
  const { numbers } = walk;
  let quoteEnd = 0;
  let lastWord = 0;
  let lastStart = start;
  let lastEnd = start;
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
        (plain
          ? (at - lastEnd <= 4 && measureNames.has(lastWord)) ||
            isMeasured(text, at, stop) ||
            isChunkId(text, at, lastStart, lastEnd)
          : volatileWord.test(text.slice(at, Math.min(stop, at + 64))));
      if (!varies) {
        hasStableWords = true;
        if (plain && digits > 0 && numbers !== undefined && numbers.length < numbersMax)
          numbers.push(Number.parseFloat(text.slice(at, Math.min(stop, at + 15))));
      }
      exact = Math.imul(exact ^ (varies ? blank : word), prime);
      lastWord = word;
      lastStart = at;
      lastEnd = stop;
      at = stop;
      const follows = stop < end ? text.charCodeAt(stop) : 0;
      if ((follows === 47 || follows === 92) && digits === 0 && !walk.raw && isTemporaryFolder(text, lastStart, stop)) {
        temporaryPath.lastIndex = stop + 1;
        const part = temporaryPath.exec(text)?.[0] ?? '';
        if (randomPart.test(part)) at = Math.min(end, stop + 1 + part.length);
      }
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

/** Whether a number has the unit of a duration, or is a clock time. */
function isMeasured(text: string, at: number, stop: number): boolean {
  const next = text.charCodeAt(stop);
  if ((next === 32 || next === 0xb5) && unitAfter.test(text.slice(stop, stop + 10))) return true;
  return stop - at >= 10 && clockTime.test(text.slice(at, stop));
}

/** Codex begins each output with "Chunk ID: 2d6416", which may have no letter. */
function isChunkId(text: string, at: number, lastStart: number, lastEnd: number): boolean {
  return (
    at - lastEnd <= 2 &&
    /^id:?$/i.test(text.slice(lastStart, lastEnd)) &&
    text.slice(lastStart - 6, lastStart) === 'Chunk '
  );
}

const temporaryFolders = new Set(['tmp', 'temp', 'folders', 't']);

/** Whether the word between two places is a folder of temporary files, and a path goes on after it. */
function isTemporaryFolder(text: string, start: number, stop: number): boolean {
  if (stop - start > 7) return false;
  const before = text.charCodeAt(start - 1);
  return (before === 47 || before === 92) && temporaryFolders.has(text.slice(start, stop).toLowerCase());
}

/** How much of a text is searched for words; and the characters of a value up to which it is read like a terminal. */
const wordsLength = 1_000;
const overwrittenMax = 200_000;
const numbersMax = 4;
/** Words of errors that waiting may fix. */
const retryableWords = new RegExp(
  [
    '(^|HTTP\\S*|status|code|error)\\W{0,3}(429|50[0-4]|529)\\b|rate.?limit|too many req|time(d ?)?out|overload|ECONN',
    'transfer closed|unexpected eof|broken pipe|network is unreachable',
  ].join('|'),
  'i',
);
/** Words of errors of what starts up. */
const startingWords = new RegExp(
  [
    'ECONNREFUSED|connection refused|((failed|unable|could not) to|could ?n.t) connect|\\b503\\b',
    '\\b(not (yet )?ready|starting( up)?|try again later)\\b',
  ].join('|'),
  'i',
);
/** Words of errors of work that goes on elsewhere; "2 pending" is a count of tests. */
const pendingWords = /(?<!\d )\b(pending|queued|in.progress|is locked|get lock)\b/i;
/** Words of a short answer that says that something is not ready yet. */
const unreadyLength = 200;
const unreadyWords = new RegExp(
  [
    'in.?progress|pending|queued|provisioning|creating|initiali[sz]ing|activating|deploying|modifying|updating',
    '|uploading|pulling|building|starting|warming.up|not.?(yet.)?ready|waiting|awaiting|required|"ready": ?false',
    '|\\brunning\\b(?! \\d)|\\blocked\\b',
  ].join(''),
  'i',
);

/** Kinds of failures, in words that may be shown: they are no content. */
const failureKinds: readonly (readonly [RegExp, string])[] = [
  [/old_?string|string to replace|string not found|could not find the string/i, 'old_string not found'],
  [/command not found|is not recognized as/i, 'command not found'],
  [/no such file|ENOENT|does not exist|cannot find the (file|path)|file not found/i, 'no such file'],
  [/permission denied|EACCES|EPERM/i, 'permission denied'],
  [/connection refused|ECONNREFUSED|failed to connect/i, 'connection refused'],
  [/time(d ?)?out/i, 'timeout'],
  [/\b429\b|rate.?limit|too many req/i, 'rate limit'],
  [/syntax ?error|parse error|unexpected token/i, 'syntax error'],
  [/type ?error|error TS\d/i, 'type error'],
  [/\b(tests?|specs?|assert\w*)\b.{0,40}\bfail|\bfail(ed|ures?|ing)?\b.{0,40}\btests?|^not ok\b/im, 'failed tests'],
  [/exit (code|status):? 1\b/i, 'exit code 1'],
];

function kindOfFailure(text: string): string | undefined {
  return failureKinds.find(([words]) => words.test(text))?.[1];
}

/** Marks a result or an error; undefined if it is unreadable. Never throws. */
export function markResult(value: unknown, ok: boolean): ResultMark | undefined {
  try {
    let walk = walkRoot(value, ok, false);
    // Only ids or times: hash them after all.
    if (!walk.hasStableWords) walk = walkRoot(value, ok, true);
    const { exact, loose, length, retryable, unready, pends, numbers, says } = walk;
    // 0 means "not computed".
    const mark = { ok, exact: exact || 1, loose: loose || 1, length };
    if (ok) return unready ? { ...mark, unready } : mark;
    const kind = { ...(retryable && { retryable }), ...(unready && { unready }), ...(pends && { pends }) };
    return { ...mark, ...kind, ...(numbers?.length && { numbers }), ...(says && { says }) };
  } catch {
    return undefined; // The value throws when read, or shows no content.
  }
}

function walkRoot(value: unknown, ok: boolean, raw: boolean): HashWalk {
  const entries = fingerprintEntriesMax;
  const numbers = ok ? undefined : [];
  const flags = { hasStableWords: false, raw, retryable: false, unready: false, pends: false, says: undefined };
  const walk: HashWalk = { exact: basis, loose: basis ^ 1, length: 0, entries, numbers, ...flags };
  walkValue(value, walk, ok, 0);
  return walk;
}

function walkValue(value: unknown, walk: HashWalk, ok: boolean, depth: number): void {
  walk.entries--;
  if (typeof value !== 'object' || value === null) addText(walk, typeof value === 'function' ? '' : String(value), ok);
  else if (isError(value)) addText(walk, `${value.name} ${value.message}`, ok);
  else if (depth < fingerprintDepthMax) {
    if (Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value)) {
      walkList(value as ArrayLike<unknown>, walk, ok, depth);
    } else walkFields(value as Readonly<Record<string, unknown>>, walk, ok, depth);
  }
}

/** An error, or a plain object that stands for one. */
function isError(value: object): value is { readonly name: unknown; readonly message: unknown } {
  if (value instanceof Error) return true;
  return Object.keys(value).length === 2 && typeof (value as Error).message === 'string' && 'name' in value;
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
