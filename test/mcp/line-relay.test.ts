/** The relay passes bytes in order, whole lines to its reader, and own lines between them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type LineReader, LineRelay, type LineVerdict } from '../../src/mcp/line-relay.ts';
import { Kept } from './proxied-session.ts';

interface Setup extends Partial<LineReader> {
  decide?: (line: string) => LineVerdict;
}

function createRelay({ decide = () => 'pass', ...reader }: Setup = {}) {
  const sink = new Kept();
  const lines: string[] = [];
  const relay = new LineRelay(sink, {
    isReading: true,
    bytesMax: 64,
    readLine(line) {
      lines.push(line.toString('latin1'));
      return decide(line.toString('latin1'));
    },
    readLongLine: () => 'pass',
    mayGoOn: () => true,
    endLongLine: () => undefined,
    ...reader,
  });
  return { sink, lines, relay, written: () => Buffer.concat(sink.chunks) };
}

/** Bytes with many line breaks, and where they are split. */
const stream = fc.tuple(
  fc.array(fc.oneof(fc.constant(0x0a), fc.integer({ min: 0, max: 255 })), { maxLength: 300 }),
  fc.array(fc.integer({ min: 1, max: 80 }), { minLength: 1, maxLength: 20 }),
);

function pushSplit(relay: LineRelay, bytes: Buffer, sizes: readonly number[], between: () => void = () => undefined) {
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length]!;
    relay.push(bytes.subarray(at, at + size));
    between();
    at += size;
  }
  relay.end();
}

test('every byte passes unchanged and in order, read or not, however the stream is split', () => {
  fc.assert(
    fc.property(stream, fc.boolean(), ([values, sizes], isReading) => {
      const bytes = Buffer.from(values);
      const { relay, written } = createRelay({ isReading });
      pushSplit(relay, bytes, sizes);
      assert.deepEqual(written(), bytes);
    }),
    { numRuns: 1_000 },
  );
});

test('dropped and replaced lines leave the others as they are', () => {
  fc.assert(
    fc.property(stream, ([values, sizes]) => {
      const bytes = Buffer.from(values);
      const decide = (line: string): LineVerdict =>
        line.length % 3 === 0 ? 'drop' : line.length % 3 === 1 ? Buffer.from('other\n') : 'pass';
      const { relay, written } = createRelay({ decide, bytesMax: 1_000 });
      pushSplit(relay, bytes, sizes);
      const expected = (bytes.toString('latin1').match(/[^\n]*\n|[^\n]+$/g) ?? []).map((line) => {
        const verdict = decide(line);
        return verdict === 'drop' ? '' : verdict === 'pass' ? line : verdict.toString('latin1');
      });
      assert.equal(written().toString('latin1'), expected.join(''));
    }),
    { numRuns: 1_000 },
  );
});

test('an own line is written between two lines, also while a long line passes', () => {
  fc.assert(
    fc.property(stream, fc.boolean(), ([values, sizes], isReading) => {
      const bytes = Buffer.from(values.map((value) => (value === 0x2a ? 0 : value)));
      const { relay, written } = createRelay({ isReading });
      pushSplit(relay, bytes, sizes, () => relay.inject(Buffer.from('*own*\n')));
      const text = written().toString('latin1');
      assert.equal(text.replaceAll('*own*\n', ''), bytes.toString('latin1'));
      for (const { index } of text.matchAll(/\*own\*/g)) {
        const isAtStart = index === 0 || text[index - 1] === '\n';
        const isAfterEnd = bytes.at(-1) !== 0x0a && text.slice(index).replaceAll('*own*\n', '') === '';
        assert.ok(isAtStart || isAfterEnd, JSON.stringify(text));
      }
    }),
    { numRuns: 1_000 },
  );
});

test('a long line that turns out to be a call is cut, so that nobody can read it', () => {
  const { relay, sink } = createRelay({
    readLongLine: ({ method }) => (method === 'ping' ? 'pass' : 'drop'),
    mayGoOn: ({ isAmbiguous }) => !isAmbiguous,
  });
  const text = `{"method":"ping","x":"${'a'.repeat(200)}","method":"tools/call","params":{"name":"wipe"}}`;
  pushSplit(relay, Buffer.from(`${text}\n{"id":1}\n`), [50]);
  const [first = '', second] = sink.text.split('\n');
  assert.throws(() => JSON.parse(first), SyntaxError);
  assert.ok(!first.includes('wipe'));
  assert.equal(second, '{"id":1}');
});

test('a long line is not held', () => {
  const { relay, sink } = createRelay();
  const part = Buffer.alloc(1_000, 0x61);
  for (let n = 0; n < 50; n++) relay.push(part);
  assert.equal(Buffer.concat(sink.chunks).length, 50_000);
});
