import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clampOutput } from '../../src/gateway/clamp-output.ts';
import { geminiContent } from '../../src/gateway/shapes/gemini.ts';
import { openaiChat } from '../../src/gateway/shapes/openai-chat.ts';
import { findMaxOutput } from '../../src/gateway/shapes/shape.ts';

const facts = { model: 'm', isStream: false, hasTools: false };

test('only the digits of the limit change', () => {
  const text =
    '{ "model":"m","messages":[{"content":"max_tokens: 5, \\"max_tokens\\": 9 }"}], "max_tokens" : 64000 ,"x":1.0 }';
  assert.equal(clampOutput(text, { ...facts, outputPath: ['max_tokens'] }, 700), text.replace('64000', '700'));
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
    const clamped = clampOutput(text, { ...facts, outputPath: path }, 7);
    if (expected === undefined) assert.equal(clamped, undefined, text);
    else assert.ok(clamped?.endsWith(expected), `${text} became ${clamped}`);
    if (clamped !== undefined) JSON.parse(clamped);
  }
});

test('of several limits in one body the highest is reserved, and all are lowered', () => {
  const chat = { max_completion_tokens: 1, max_tokens: 64_000 };
  const chatFacts = openaiChat.readRequest('/v1/chat/completions', chat);
  assert.equal(chatFacts.maxOutput?.tokens, 64_000);
  assert.equal(
    clampOutput(JSON.stringify(chat), chatFacts, 900),
    JSON.stringify({ max_completion_tokens: 900, max_tokens: 900 }),
  );
  const gemini = { generation_config: { maxOutputTokens: 60_000, candidate_count: 2 } };
  const geminiFacts = geminiContent.readRequest('/v1beta/models/gemini-2.5-pro:generateContent', gemini);
  assert.deepEqual([geminiFacts.answers, geminiFacts.maxOutput?.tokens], [2, 120_000]);
  assert.equal(clampOutput(JSON.stringify(gemini), geminiFacts, 900), JSON.stringify(gemini).replace('60000', '450'));
  assert.equal(findMaxOutput({ max_tokens: 0 }, [['max_tokens']]), undefined);
});
