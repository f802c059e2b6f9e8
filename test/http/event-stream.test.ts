import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventSplitter } from '../../src/http/event-stream.ts';

const bytesMax = 1_048_576;

function split(text: string, sizes: (length: number) => number): string[] {
  const found: string[] = [];
  const passed: Buffer[] = [];
  const splitter = new EventSplitter();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    const size = Math.max(1, sizes(bytes.length - at));
    for (const { raw, text: data } of splitter.push(bytes.subarray(at, at + size))) {
      if (data !== undefined && raw.length <= bytesMax) found.push(data);
      passed.push(raw);
    }
    if (splitter.heldBytes > bytesMax) passed.push(splitter.takeHeld());
    at += size;
  }
  assert.ok(Buffer.concat([...passed, splitter.takeHeld()]).equals(bytes), 'every byte comes once, in order');
  return found;
}

const stream = [
  ': comment\n\nevent: a\ndata: {"x":"ü€"}\n\r\ndata:one\r\ndata: two\r\n\r\n',
  'id: 1\rdata: three\r\revent: none\n\ndata: last\n\n',
].join('');
const expected = ['{"x":"ü€"}', 'one\ntwo', 'three', 'last'];

test('events are found however the bytes are split and whatever ends the lines', () => {
  for (let size = 1; size <= Buffer.byteLength(stream); size++) {
    assert.deepEqual(
      split(stream, () => size),
      expected,
      `${size} bytes at once`,
    );
  }
});

test('an event that has not ended is not read, and one that is too long is left out', () => {
  assert.deepEqual(
    split('data: unfinished', () => 5),
    [],
  );
  const long = `data: ${'x'.repeat(1_100_000)}\n\ndata: after\n\n`;
  for (const size of [65_536, 2_000_000]) {
    assert.deepEqual(
      split(long, () => size),
      ['after'],
    );
  }
});

test('the end of an event whose beginning was taken is no event of its own', () => {
  const splitter = new EventSplitter();
  assert.deepEqual(splitter.push(Buffer.from('data: {"a":1')), []);
  assert.equal(splitter.takeHeld().toString(), 'data: {"a":1');
  const events = splitter.push(Buffer.from('\ndata: {"b":2}\n\ndata: {"c":3}\n\n'));
  assert.deepEqual(
    events.map(({ data }) => data.join('\n')),
    ['', '{"c":3}'],
  );
});
