/** Plain text that a program prints over and over without blank lines, and what healthy programs print. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountEvents, readerFor } from '../../../src/agents/index.ts';
import { createSwitchgear } from '../../../src/index.ts';

/** Reads lines as those of an unknown program; returns the code of the halt and the number of lines until then. */
function readLines(lines: Iterable<string>): { readonly code: string | undefined; readonly lines: number } {
  const gear = createSwitchgear();
  const accounting = accountEvents(gear, gear.startTask());
  const reader = readerFor(['./my-agent']).reader();
  let count = 0;
  for (const line of lines) {
    count++;
    for (const event of reader.read(line)) accounting.account(event);
    if (accounting.halt !== undefined) break;
  }
  for (const event of reader.end()) accounting.account(event);
  return { code: accounting.halt?.code, lines: count };
}

function* repeat(times: number, ...block: readonly (string | ((n: number) => string))[]): Generator<string> {
  for (let n = 0; n < times; n++) for (const line of block) yield typeof line === 'string' ? line : line(n);
}

const sentence = 'I will read the file again to see what the parser does with it.';

test('a sentence, or a block of lines, that is printed over and over is halted', () => {
  const spirals: Record<string, readonly string[]> = {
    'one line': [sentence],
    'a block': ['Let me look at the tests.', 'The lexer fails on line 12.', 'I change the grammar and try again.'],
    'a block with equal lines in it': ['{', '{', sentence, '}', '}', 'Retrying.', '}', 'Retrying.'],
    'short paragraphs in turn': ['I look at it again.', '', 'The tests still fail here.', '', 'Now I try this.', ''],
    'other letters': ['Я снова прочитаю этот файл, чтобы понять, что делает с ним парсер.'],
  };
  for (const [title, block] of Object.entries(spirals)) {
    const { code, lines } = readLines(['Starting the agent.', 'Model ready.', ...repeat(500, ...block)]);
    assert.equal(code, 'output_loop', title);
    assert.ok(lines <= 2 + 40 * block.length, `${title}: ${lines} lines`);
  }
});

test('a short line is a progress message, until it was printed a thousand times', () => {
  assert.deepEqual(readLines(repeat(900, 'working...')), { code: undefined, lines: 900 });
  const { code, lines } = readLines(repeat(5_000, 'working...'));
  assert.equal(code, 'output_loop');
  assert.ok(lines < 1_010, `${lines} lines`);
});

test('what healthy programs print is not halted', () => {
  const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
  const healthy: Record<string, Iterable<string>> = {
    dots: repeat(5_000, '.'),
    'rows of dots': repeat(5_000, '................................................................'),
    'a bar': repeat(100, (n) => `Downloading the model [${'#'.repeat(n).padEnd(100)}] ${n} % of 4.2 GB, please wait`),
    'a spinner without a terminal': repeat(90, ...frames.map((frame) => `${frame} Installing dependencies`)),
    'a table of zeros': repeat(3_000, '0 0 0 0 0 0 0 0 0 0 0 0'),
    'a poller': repeat(300, 'Waiting for the server...'),
    'a test runner': repeat(3_000, (n) => `ok ${n} - reads the ${n}th line of the file and finds the word in it`),
    'a package manager': repeat(
      60,
      'npm warn ERESOLVE overriding peer dependency',
      (n) => `npm warn Found: p@${n}.0.0`,
    ),
    'the same warning of 24 workers': [
      ...repeat(24, 'Warning: the process was forked after threads were started,', 'which may lead to deadlocks.'),
      ...repeat(5, (n) => `epoch ${n}`),
    ],
    'braces of a listing': repeat(400, (n) => `function f${n}() {`, '  return undefined;', '}'),
    'a log with times': repeat(400, (n) => `12:00:${n} INFO the server has answered the request of the health check`),
  };
  for (const [title, lines] of Object.entries(healthy)) assert.equal(readLines(lines).code, undefined, title);
});

test('lines between two stretches of the same text begin a new count', () => {
  const stretch = [...repeat(20, sentence)];
  assert.equal(readLines([...stretch, 'Now the next one.', ...stretch, 'And another.', ...stretch]).code, undefined);
});
