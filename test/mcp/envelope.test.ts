/** The scanner of passing messages reads what a parser reads, wherever the bytes are split. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EnvelopeScanner } from '../../src/mcp/envelope.ts';

function scan(text: string, step: number): EnvelopeScanner {
  const bytes = Buffer.from(text);
  const envelope = new EnvelopeScanner();
  for (let at = 0; at < bytes.length; at += step) envelope.scan(bytes.subarray(at, at + step));
  return envelope;
}

const name = fc.constantFrom(
  'id',
  'method',
  'params',
  'result',
  'error',
  'isError',
  'resultType',
  '',
  'x',
  '"',
  '\\',
  'é',
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(
      'tools/call',
      'ping',
      'task',
      true,
      false,
      null,
      1,
      -2.5,
      'a"b',
      '\\',
      '{"method":"tools/call"}',
      'é',
    ),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(name, tie('any'), { maxKeys: 5 }),
  ),
})).any;

test('the scanner agrees with a parser on every message and every split', () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 9 }), fc.constantFrom(0, 1), (message, step, indent) => {
      const text = JSON.stringify(message, null, indent);
      const envelope = scan(`${text}\n`, step);
      const isObject = typeof message === 'object' && message !== null && !Array.isArray(message);
      assert.equal(envelope.top, Array.isArray(message) ? 'array' : isObject ? 'object' : 'other');
      if (!isObject) return;
      const { id, method, result } = message as Record<string, unknown>;
      const isScalar = typeof id !== 'object' || id === null;
      if (isScalar) assert.equal(envelope.id, id === undefined ? undefined : JSON.stringify(id));
      assert.equal(envelope.method, typeof method === 'string' ? method : undefined);
      assert.equal(envelope.hasResult, Object.hasOwn(message as object, 'result'));
      assert.equal(envelope.hasError, Object.hasOwn(message as object, 'error'));
      const inner = typeof result === 'object' && result !== null && !Array.isArray(result) ? result : {};
      const { isError, resultType } = inner as Record<string, unknown>;
      assert.equal(envelope.isError, isError === true);
      assert.equal(envelope.resultType, typeof resultType === 'string' ? resultType : undefined);
      assert.equal(envelope.isAmbiguous, false);
    }),
    { numRuns: 2_000 },
  );
});

test('names with escapes are read, and members that are written twice are noticed', () => {
  assert.equal(scan('{"\\u006dethod":"tools\\/call"}', 3).method, 'tools/call');
  assert.equal(scan('{"":1,"method":"tools/call"}', 3).method, 'tools/call');
  assert.equal(scan('{"method":"ping","a":[1],"method":"tools/call"}', 5).isAmbiguous, true);
  assert.equal(scan('{"params":{"method":"x","method":"y"},"method":"ping"}', 5).isAmbiguous, false);
});

test('names and values that are too long are passed over', () => {
  const long = 'n'.repeat(5_000);
  const envelope = scan(`{"${long}":"method","id":"${long}","method":"ping","result":{"${long}":1,"isError":true}}`, 7);
  assert.deepEqual([envelope.id, envelope.method, envelope.isError], [undefined, 'ping', true]);
});

test('texts that are no JSON are read without an error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      new EnvelopeScanner().scan(bytes);
    }),
  );
});
