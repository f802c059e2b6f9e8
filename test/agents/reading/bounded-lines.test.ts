/** Bytes into lines, whatever comes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundedLines } from '../../../src/agents/index.ts';
import { agentLineMax } from '../../../src/core/limits.ts';

function taken(max?: number) {
  const got: string[] = [];
  const left: [string, number][] = [];
  const lines = boundedLines({ line: (line) => got.push(line), skipped: (...what) => left.push(what) }, max);
  return { got, left, lines };
}

test('an incomplete line waits for its end, and the last line needs no line break', () => {
  const { got, lines } = taken();
  for (const part of ['{"a"', ':1}\n{"b":', '2}\r\n', '\nlast']) lines.write(Buffer.from(part));
  assert.deepEqual(got, ['{"a":1}', '{"b":2}', '']);
  lines.end();
  assert.deepEqual(got, ['{"a":1}', '{"b":2}', '', 'last']);
  lines.end();
  assert.equal(got.length, 4);
});

test('a character split between chunks is joined, and invalid UTF-8 affects only its own line', () => {
  const { got, lines } = taken();
  const euro = Buffer.from('3 €\n');
  lines.write(euro.subarray(0, 3));
  lines.write(euro.subarray(3));
  lines.write(Buffer.from([0x61, 0xff, 0xfe, 0x62, 10]));
  lines.write(Buffer.from('c\n'));
  assert.deepEqual(got, ['3 €', 'a\ufffd\ufffdb', 'c']);
});

test('a line over the length limit is skipped and counted, however it is split into chunks', () => {
  for (const size of [3, 64, 1_000]) {
    const { got, left, lines } = taken(100);
    const text = `ok\n${'x'.repeat(500)}\nfine\n${'y'.repeat(101)}\n${'z'.repeat(100)}\n`;
    for (let at = 0; at < text.length; at += size) lines.write(text.slice(at, at + size));
    assert.deepEqual(got, ['ok', 'fine', 'z'.repeat(100)], `pieces of ${size}`);
    assert.deepEqual([lines.skipped, lines.skippedLength], [2, 601]);
    assert.deepEqual(
      left.map(([head, length]) => [head.slice(0, 2), length]),
      [
        ['xx', 500],
        ['yy', 101],
      ],
    );
  }
});

test('a line of ten megabytes takes no more memory than its bound', () => {
  const { got, lines } = taken();
  const chunk = Buffer.alloc(65_536, 'x');
  const before = process.memoryUsage().heapUsed;
  let highest = 0;
  for (let sent = 0; sent < 10 * agentLineMax; sent += chunk.length) {
    lines.write(chunk);
    highest = Math.max(highest, process.memoryUsage().heapUsed - before);
  }
  lines.write('\nnext\n');
  assert.deepEqual(got, ['next']);
  assert.equal(lines.skipped, 1);
  assert.ok(highest < 8 * agentLineMax, `${highest} bytes`);
});
