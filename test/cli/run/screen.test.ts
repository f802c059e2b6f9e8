import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScreen, formatSingleLine, type Sink } from '../../../src/cli/run/screen.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

const erase = '\r\u001b[2K';

/** Two streams that share one window, and what was written there. */
function createWindow(isTTY: boolean, columns = 80) {
  const clock = simulatedClock();
  let text = '';
  let free = () => {};
  let isFull = false;
  const sink = (): Sink => ({
    isTTY,
    columns,
    write(data) {
      text += typeof data === 'string' ? data : Buffer.from(data).toString();
      return !isFull;
    },
    once(event, listener) {
      if (event === 'drain') free = listener;
    },
    removeListener: () => undefined,
  });
  let status = 'calls 1 of 50';
  const screen = createScreen({ stdout: sink(), stderr: sink(), clock, status: () => status });
  return {
    clock,
    screen,
    say: (value: string) => {
      status = value;
    },
    fill: (value: boolean) => {
      isFull = value;
    },
    free: () => free(),
    take: () => {
      const output = text;
      text = '';
      return output;
    },
  };
}

test('the status line is drawn after a quarter of a second, and again only when it changes', () => {
  const { clock, take: takeOutput, say: setStatus } = createWindow(true);
  clock.advance(249);
  assert.equal(takeOutput(), '');
  clock.advance(1);
  assert.equal(takeOutput(), `${erase}calls 1 of 50`);
  clock.advance(1_000);
  assert.equal(takeOutput(), '');
  setStatus('calls 2 of 50');
  clock.advance(1_000);
  assert.equal(takeOutput(), `${erase}calls 2 of 50`);
});

test('the status line is cleared before agent output, and not drawn within an unfinished line', () => {
  const { clock, take: takeOutput, screen } = createWindow(true);
  clock.advance(250);
  takeOutput();
  void screen.out('half a ');
  assert.equal(takeOutput(), `${erase}half a `);
  clock.advance(10_000);
  assert.equal(takeOutput(), '');
  void screen.out(Buffer.from('line\n'));
  clock.advance(250);
  assert.equal(takeOutput(), `line\n${erase}calls 1 of 50`);
  screen.printLine('switchgear: something');
  assert.equal(takeOutput(), `${erase}switchgear: something\n`);
});

test('a message of Switchgear starts on a new line', () => {
  const { take: takeOutput, screen } = createWindow(true);
  void screen.out('half a line');
  screen.printLine('switchgear: something');
  assert.equal(takeOutput(), 'half a line\nswitchgear: something\n');
});

test('without a terminal there is no status line, and output passes unchanged', () => {
  const { clock, take: takeOutput, screen } = createWindow(false);
  void screen.out('half a ');
  clock.advance(10_000);
  void screen.err('line\n');
  screen.close();
  assert.equal(takeOutput(), 'half a line\n');
});

test('a status line longer than the terminal width is cut', () => {
  const { clock, take: takeOutput } = createWindow(true, 8);
  clock.advance(250);
  assert.equal(takeOutput(), `${erase}calls 1`);
});

test('a closed screen clears its status line and draws no other', () => {
  const { clock, take: takeOutput, screen } = createWindow(true);
  clock.advance(250);
  takeOutput();
  screen.close();
  clock.advance(10_000);
  assert.equal(takeOutput(), erase);
});

test('a full output stream pauses the agent until the stream drains', async () => {
  const { screen, fill, free } = createWindow(false);
  assert.equal(screen.out('a little'), undefined);
  fill(true);
  let isFree = false;
  const waiting = screen.out('a lot')?.then(() => {
    isFree = true;
  });
  await Promise.resolve();
  assert.equal(isFree, false);
  free();
  await waiting;
  assert.equal(isFree, true);
});

test('a full stderr also pauses the output of the agent', async () => {
  const { screen, fill, free } = createWindow(false);
  fill(true);
  screen.printLine('→ Read page-1.md');
  const waiting = screen.pendingDrain();
  assert.notEqual(waiting, undefined);
  free();
  await waiting;
  assert.equal(screen.pendingDrain(), undefined);
});

test('control characters of an agent are removed from lines of Switchgear', () => {
  assert.equal(formatSingleLine('rm \u001b[31m-rf\u001b[0m\r\n\u202Etxt\tnow', 80), 'rm -rf txt now');
  assert.equal(formatSingleLine('x'.repeat(500), 10), `${'x'.repeat(9)}…`);
});
