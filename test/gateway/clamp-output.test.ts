import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clampOutput } from '../../src/gateway/clamp-output.ts';

test('only the digits of the limit change', () => {
  const text =
    '{ "model":"m","messages":[{"content":"max_tokens: 5, \\"max_tokens\\": 9 }"}], "max_tokens" : 64000 ,"x":1.0 }';
  assert.equal(clampOutput(text, ['max_tokens'], 700), text.replace('64000', '700'));
});

test('a limit inside another object, one that is written twice, and one that is absent', () => {
  const cases: readonly (readonly [string, readonly string[], string | undefined])[] = [
    [
      '{"generationConfig":{"a":[1],"maxOutputTokens":9000}}',
      ['generationConfig', 'maxOutputTokens'],
      '"maxOutputTokens":7}}',
    ],
    ['{"max_tokens":9000,"max_tokens":8000}', ['max_tokens'], '{"max_tokens":7,"max_tokens":7}'],
    ['{"m\\u0061x_tokens":9000}', ['max_tokens'], '{"m\\u0061x_tokens":7}'],
    ['{}', ['max_tokens'], '{"max_tokens":7}'],
    ['{"a":1}', ['b', 'c'], '{"b":{"c":7},"a":1}'],
    ['[1]', ['max_tokens'], undefined],
    ['{"a" 1}', ['max_tokens'], undefined],
  ];
  for (const [text, path, expected] of cases) {
    const clamped = clampOutput(text, path, 7);
    if (expected === undefined) assert.equal(clamped, undefined, text);
    else assert.ok(clamped?.endsWith(expected), `${text} became ${clamped}`);
    if (clamped !== undefined) JSON.parse(clamped);
  }
});
