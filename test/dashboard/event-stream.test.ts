/** Server-sent events from pieces that are cut anywhere. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEventReader, reconnectDelayMs, type StreamEvent } from '../../dashboard/src/logic/event-stream.ts';

const text = 'event: hello\ndata: {"seq":1}\n\n: beat\n\nid: 2\nevent: entry\ndata: {"a":\r\ndata: 1}\r\n\r\nid: 3\n\n';
const events: readonly StreamEvent[] = [
  { type: 'hello', data: '{"seq":1}' },
  { type: 'entry', id: '2', data: '{"a":\n1}' },
];

test('events are read wherever the pieces are cut; comments and events without data are none', () => {
  for (let at = 0; at <= text.length; at++) {
    const read = createEventReader();
    assert.deepEqual([...read(text.slice(0, at)), ...read(text.slice(at))], events, `cut at ${at}`);
  }
  const read = createEventReader();
  assert.deepEqual(
    [...text].flatMap((letter) => [...read(letter)]),
    events,
    'one letter at a time',
  );
});

test('an event without an end does not grow for ever', () => {
  const read = createEventReader();
  for (let count = 0; count < 10; count++) assert.deepEqual(read('x'.repeat(1_000_000)), []);
  assert.deepEqual(read('\n\nevent: a\ndata: b\n\n'), [{ type: 'a', data: 'b' }]);
});

test('the delay of the next attempt doubles up to 15 s, and is spread', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 10, 1_000].map((attempt) => reconnectDelayMs(attempt, 1)),
    [250, 500, 1_000, 2_000, 15_000, 15_000],
  );
  assert.equal(reconnectDelayMs(0, 0), 125);
});
