import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markResult } from '../../../../src/core/controls/loop/result-mark.ts';
import { fingerprintDepthMax, fingerprintEntriesMax, markLengthMax } from '../../../../src/core/limits.ts';

const exact = (value: unknown) => markResult(value, true)!.exact;
const loose = (value: unknown) => markResult(value, true)!.loose;
const retryable = (value: unknown) => markResult(value, false)?.retryable;

type Rows = readonly (readonly [a: unknown, b: unknown])[];
function alike(mark: (value: unknown) => number, rows: Rows): void {
  for (const [a, b] of rows) assert.equal(mark(a), mark(b), `${JSON.stringify(a)} | ${JSON.stringify(b)}`);
}
function apart(mark: (value: unknown) => number, rows: Rows): void {
  for (const [a, b] of rows) assert.notEqual(mark(a), mark(b), `${JSON.stringify(a)} | ${JSON.stringify(b)}`);
}

const x = (length: number) => 'x'.repeat(length);
const spaced = (length: number) => 'x '.repeat(length / 2);
const nested = (depth: number, leaf: unknown): unknown => (depth === 0 ? leaf : [nested(depth - 1, leaf)]);
const wrapped = (depth: number, leaf: unknown): unknown => (depth === 0 ? leaf : { in: wrapped(depth - 1, leaf) });

test('marks are the same in every release, so that a stored task recognises a result after an upgrade', () => {
  const rows: readonly [value: unknown, exact: number, loose: number][] = [
    ['', -2128831035, -2128831036],
    ['Not found: 5 rows', -1504734642, 1514302260],
    [[1, 'two'], -995117874, 156954970],
    [{ a: { b: null } }, 598370052, -160432777],
    [{}, 34429535, 51207104],
  ];
  for (const [value, ...marks] of rows) assert.deepEqual([exact(value), loose(value)], marks, JSON.stringify(value));
});

test('results that differ only in case, blanks, ids, times or durations have the same mark', () => {
  alike(exact, [
    ['Not  found\n', 'not found'],
    ['took 5 ms', 'took 6 ms'],
    ['took 5 seconds', 'took 6 seconds'],
    ['took 5.5s in all', 'took 61s in all'],
    ['at 10:01 today', 'at 9:59:30 today'],
    ['commit abcdef1', 'commit 12345ab'],
    ['at 0xff in f', 'at 0xa0 in f'],
    ['on 2026-01-01', 'on 2025-12-31'],
    [`id 0x${'f1'.repeat(40)} there`, `id 0x${'a2'.repeat(40)} there`],
  ]);
});

test('results that differ in words, signs, numbers or non-ASCII letters have different marks', () => {
  apart(exact, [
    ['not found', 'was found'],
    ['a = b', 'a + b'],
    ['yes!', 'yes?'],
    ['5 items', '6 items'],
    ['5 minuets', '6 minuets'],
    ['5, ms', '6, ms'],
    ['größe', 'grüße'],
    ['ä', 'a'],
    ['a\u0080', 'a'],
    ['\u0080b', '\u0080 b'],
    ['it was defaced', 'it was effaced'],
    ['facade', 'decade'],
    ['rows a b', 'rows ab'],
    ['id k1234567', 'id k1234568'],
  ]);
});

test('results that consist only of an id or a time have different marks', () => {
  apart(exact, [
    ['abcdef1', '12345ab'],
    ['10:01', '10:02'],
    ['5ms', '6ms'],
    [{ id: 'abcdef1' }, { id: '12345ab' }],
  ]);
  alike(exact, [
    [
      { id: 'abcdef1', of: 'a' },
      { id: '12345ab', of: 'a' },
    ],
  ]);
});

test('errors that differ only in numbers or quoted parts have the same loose mark', () => {
  alike(loose, [
    ["no column 'a' here", "no column 'other one' here"],
    ['no column "a" here', 'no column "b.c" here'],
    ['no file `a` here', 'no file `!?` here'],
    ['line 5', 'line 77'],
    ['item k1', 'item z2'],
    [`no '${x(119)}' here`, "no 'y' here"],
    ["'a' and 'b'", "'c' and 'd'"],
    ["'a''b'", "'c''d'"],
  ]);
  apart(loose, [
    ["no column 'a' here", "no table 'a' here"],
    ["no column 'a' here", "no column 'a' there"],
    ["no column 'a' here", "no column '' here"],
    ["no column 'a' here", 'no column a here'],
    ["no column 'a' here", 'no column here'],
    ["'a' and 'b'", "'a' or 'b'"],
    [`no '${x(120)}' here`, "no 'y' here"],
    ["can't read", "can't write"],
    ["it's b", "it's c"],
    ['a ! b', 'a ? b'],
    ["'a'", "'a"],
    ["''a", "''b"],
    ["''a'", "'a'"],
    ["'a's", "'a't"],
    ["'a'!", "'a'?"],
    ['say \'a" b', 'say \'a" c'],
  ]);
  apart(exact, [["no column 'a' here", "no column 'b' here"]]);
});

test('the mark of a long text depends on its beginning, its end and its length', () => {
  const long = (head: string, tail: string, more = 0) => `${head}${spaced(4_000 + more)}${tail}`;
  const half = markLengthMax / 2;
  apart(exact, [
    [long('a ', 'z'), long('b ', 'z')],
    [long('a ', 'y'), long('a ', 'z')],
    [long('a ', 'z'), long('a ', 'z', 2)],
    [`${spaced(markLengthMax - 512 - 2)}a ${spaced(2_000)}`, `${spaced(markLengthMax - 512 - 2)}b ${spaced(2_000)}`],
    [`${spaced(3_000)}a ${spaced(510)}`, `${spaced(3_000)}b ${spaced(510)}`],
    [`${spaced(half)}a ${spaced(half - 2)}`, `${spaced(half)}b ${spaced(half - 2)}`],
  ]);
  alike(exact, [
    [`${spaced(markLengthMax - 512)}a ${spaced(2_000)}`, `${spaced(markLengthMax - 512)}b ${spaced(2_000)}`],
    [`${spaced(3_000)}a${' x'.repeat(256)}`, `${spaced(3_000)}b${' x'.repeat(256)}`],
  ]);
  alike(loose, [[long('a ', 'z'), long('a ', 'z', 2)]]);
  assert.equal(markResult(spaced(5_000), true)?.length, 5_000);
});

test('of a text after a long text only the first and last characters affect the mark', () => {
  const after = (text: string) => [spaced(markLengthMax), text];
  apart(exact, [
    [after(`${spaced(30)}a ${spaced(200)}`), after(`${spaced(30)}b ${spaced(200)}`)],
    [after(`${spaced(200)}a ${spaced(30)}`), after(`${spaced(200)}b ${spaced(30)}`)],
    [after(`${spaced(62)}a`), after(`${spaced(62)}b`)],
  ]);
  alike(exact, [
    [after(`${spaced(32)}a ${spaced(200)}`), after(`${spaced(32)}b ${spaced(200)}`)],
    [after(`${spaced(200)}a ${spaced(32)}`), after(`${spaced(200)}b ${spaced(32)}`)],
  ]);
});

test('the mark of a long list depends on its first and last entries and its length', () => {
  const list = (length: number, at = -1) => Array.from({ length }, (_, i) => (i === at ? 'other' : 'same'));
  apart(exact, [
    [list(0), list(1)],
    [list(200), list(201)],
    [list(200), list(200, 0)],
    [list(200), list(200, 63)],
    [list(200), list(200, 136)],
    [list(200), list(200, 199)],
    [list(128), list(128, 64)],
    [list(129), list(129, 65)],
    [new Uint8Array([1, 2]), new Uint8Array([1, 3])],
  ]);
  apart(loose, [[list(200), list(201)]]);
  assert.equal(markResult(list(200), true)?.length, 128 * 'same'.length);
  alike(exact, [
    [list(200), list(200, 64)],
    [list(200), list(200, 135)],
    [list(129), list(129, 64)],
    [[1, 2], new Uint8Array([1, 2])],
  ]);
});

test('entries beyond the maximum number or depth do not affect the mark', () => {
  const fields = (length: number, at = -1) =>
    Object.fromEntries(Array.from({ length }, (_, i) => [`f${i}`, i === at ? 'other' : 'same']));
  const lists = (at: number) =>
    Array.from({ length: 4 }, (_, i) => Array.from({ length: 100 }, (_, j) => (i * 100 + j === at ? 'other' : 'same')));
  // The value itself is an entry.
  const last = fingerprintEntriesMax - 2;
  apart(exact, [
    [fields(400), fields(400, last)],
    [fields(400), fields(401)],
    // Three lists came before the entry.
    [lists(-1), lists(last - 3)],
    [nested(fingerprintDepthMax, 'a'), nested(fingerprintDepthMax, 'b')],
    [wrapped(fingerprintDepthMax, 'a'), wrapped(fingerprintDepthMax, 'b')],
    [nested(fingerprintDepthMax - 1, new Date(0)), nested(fingerprintDepthMax - 1, new Date(1e12))],
  ]);
  alike(exact, [
    [fields(400), fields(400, last + 1)],
    [
      { ...fields(last + 1), a: 1 },
      { ...fields(last + 1), b: 2 },
    ],
    [lists(-1), lists(last - 2)],
    [nested(fingerprintDepthMax + 1, 'a'), nested(fingerprintDepthMax + 1, 'b')],
    [wrapped(fingerprintDepthMax + 1, 'a'), wrapped(fingerprintDepthMax + 1, 'b')],
  ]);
});

test('a value with toJSON is marked by the value that toJSON returns, within the same depth limit', () => {
  class Said {
    readonly #value: unknown;
    constructor(value: unknown) {
      this.#value = value;
    }
    toJSON(): unknown {
      return this.#value;
    }
  }
  class Endless {
    toJSON(): unknown {
      return new Endless();
    }
  }
  const deep = fingerprintDepthMax - 2;
  apart(exact, [[nested(deep, new Said(['a'])), nested(deep, new Said(['b']))]]);
  alike(exact, [[nested(deep + 1, new Said(['a'])), nested(deep + 1, new Said(['b']))]]);
  assert.notEqual(markResult(new Endless(), true), undefined);
});

test('field names affect the mark, except for characters after the first 64', () => {
  apart(exact, [
    [{ a: 1 }, { b: 1 }],
    [{ a: 1 }, [1]],
    [{ [`${x(63)}a`]: 1 }, { [`${x(63)}b`]: 1 }],
  ]);
  apart(loose, [[{ a: 'x' }, { b: 'x' }]]);
  alike(exact, [[{ [`${x(64)}a`]: 1 }, { [`${x(64)}b`]: 1 }]]);
});

test('all functions have the same mark, and a DataView has no mark', () => {
  alike(exact, [[() => 1, () => 2]]);
  assert.equal(markResult(new DataView(new ArrayBuffer(8)), true), undefined);
});

test('an error is retryable if its beginning names a transient failure', () => {
  const rows: readonly [text: string, expected: true | undefined][] = [
    ['HTTP 503', true],
    ['status: 429', true],
    ['rate limit reached', true],
    ['the request timed out', true],
    ['ECONNRESET', true],
    [`${spaced(992)}timeout`, true],
    [`${spaced(994)}timeout`, undefined],
    ['curl: (18) transfer closed with outstanding data', true],
    ['fetch: unexpected EOF', true],
    ['write: broken pipe', true],
    ['network is unreachable', true],
    ['line 503 is wrong', undefined],
    ['HTTP 404', undefined],
  ];
  for (const [text, expected] of rows) assert.equal(retryable(text), expected, text);
  assert.equal(markResult('HTTP 503', true)?.retryable, undefined, 'a success is never');
});

test('a failure, and a short answer, may say that something is not ready yet', () => {
  const rows: readonly (readonly [text: string, ofFailure: boolean, ofAnswer: boolean])[] = [
    ['not ready', true, true],
    ['status: pending', true, true],
    ['{"state":"in_progress"}', true, true],
    ['Job 7 is still running', false, true],
    ['running', false, true],
    ['connect ECONNREFUSED 127.0.0.1:80', true, true],
    ['curl: (7) Failed to connect to localhost', true, true],
    ['503 Service Unavailable', true, true],
    ['tests are running in a loop', false, true],
    ['running 3 tests', false, false],
    ['3 pending items were listed', false, true],
    ['the checks are pending', true, true],
    ['{"ready": false}', false, true],
    ['creating the cluster; approval required', false, true],
    ['the database is locked', true, true],
    ['the door is blocked and unlocked', false, false],
    ['could not get lock; try again later', true, true],
    ['no such file', false, false],
    [`status: pending ${spaced(184)}`, true, true],
    [`status: pending ${spaced(186)}`, true, false],
    [`connection refused ${spaced(182)}`, true, false],
  ];
  for (const [text, ofFailure, ofAnswer] of rows) {
    assert.equal(markResult(text, false)?.unready ?? false, ofFailure, `failure: ${text}`);
    assert.equal(markResult(text, true)?.unready ?? false, ofAnswer, `answer: ${text}`);
  }
});

test('the mark of a failure has its first numbers and its kind in words of a fixed list, a success has neither', () => {
  const numbers = (text: string) => markResult(text, false)?.numbers;
  assert.deepEqual(numbers('3 of 12 tests failed, 1.5 of 2.5 suites, 9 more'), [3, 12, 1.5, 2.5]);
  assert.equal(numbers('no number'), undefined);
  assert.deepEqual(numbers('at 10:01, in 5 ms, as 0xff1234, v1a: 7 errors'), [7]);
  assert.deepEqual(numbers(`${'9'.repeat(400)} errors`), [999_999_999_999_999]);
  const kinds: Readonly<Record<string, string | undefined>> = {
    'String to replace not found in file.': 'old_string not found',
    'bash: foo: command not found': 'command not found',
    "ENOENT: no such file or directory, open '/home/ann/secret.txt'": 'no such file',
    'EACCES: /root': 'permission denied',
    'ECONNREFUSED 10.0.0.1': 'connection refused',
    'the request timed out': 'timeout',
    'HTTP 429': 'rate limit',
    'SyntaxError: Unexpected token': 'syntax error',
    'error TS2304: Cannot find name': 'type error',
    '2 tests failed': 'failed tests',
    'Exit code 1': 'exit code 1',
    'it broke': undefined,
  };
  for (const [text, says] of Object.entries(kinds)) assert.equal(markResult(text, false)?.says, says, text);
  assert.deepEqual(Object.keys(markResult('2 tests failed', true)!), ['ok', 'exact', 'loose', 'length']);
});

test('overwritten words, numbers of processes, clock times and random folders do not affect the mark', () => {
  alike(exact, [
    ['10 %\r50 %\rdone', '20 %\rdone'],
    ['a\r\nb\r\n', 'a\nb\n'],
    ['started with pid 4821', 'started with pid 77'],
    ['duration_ms 12.5, 3 passed', 'duration_ms 99.1, 3 passed'],
    ['at 1700000000 it was done', 'at 1700000999123 it was done'],
    ['see /tmp/build-a1B2/log', 'see /tmp/build-Z9Y8/log'],
    ['Chunk ID: 246416\nno', 'Chunk ID: 991234\nno'],
  ]);
  apart(exact, [
    ['a\rb', 'a\rc'],
    ['the id 4821 is there', 'the id 77 is there'],
    ['see /tmp/build/log', 'see /tmp/other/log'],
    ['at 170000000 it was done', 'at 170000099 it was done'],
  ]);
});

test('a mark takes a bounded time for any text', () => {
  const parts = [
    ' ',
    'a',
    '1',
    '.',
    "'",
    '"',
    '\r',
    '\r\n',
    'a\rb\n',
    'ms ',
    '1 ',
    '/tmp/',
    'HTTP',
    'test ',
    'status ',
    '1:',
    '1.1.',
    '\u200b',
  ];
  for (const part of [...parts, 'time_', 'abcdef1', 'is a ', 'in ', 'failed ', 'exit code ']) {
    const text = part.repeat(100_000 / part.length);
    const since = process.cpuUsage().user;
    for (const value of [text, `tests ${text}!`, Array.from({ length: 256 }, () => text)]) {
      for (const ok of [true, false]) assert.ok(markResult(value, ok));
    }
    assert.ok(process.cpuUsage().user - since < 1_000_000, JSON.stringify(part));
  }
});
