import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findShape, shapes } from '../../../src/gateway/shapes/index.ts';
import {
  type AnswerReader,
  type ApiShape,
  type Fields,
  type RequestFacts,
  readCounts,
} from '../../../src/gateway/shapes/shape.ts';
import { readTarget } from '../../../src/gateway/target.ts';
import { EventSplitter } from '../../../src/http/event-stream.ts';

const streams: Readonly<Record<string, readonly unknown[]>> = {
  anthropic: [
    { type: 'message_start', message: { model: 'm-1', usage: { input_tokens: 9, output_tokens: 1 } } },
    { type: 'ping' },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'four' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't', name: 'ls', input: {} } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 12 } },
    { type: 'message_stop' },
  ],
  'openai-chat': [
    { id: 'c', object: 'chat.completion.chunk', model: 'm-1', choices: [{ index: 0, delta: { role: 'assistant' } }] },
    { id: 'c', model: 'm-1', choices: [{ index: 0, delta: { content: 'four' } }] },
    {
      id: 'c',
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { name: 'ls', arguments: '{"a":1}' } }] } }],
    },
    { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }], usage: null },
    { id: 'c', choices: [], usage: { prompt_tokens: 9, completion_tokens: 12 } },
    '[DONE]',
  ],
  'openai-responses': [
    { type: 'response.created', sequence_number: 0, response: { id: 'r', model: 'm-1', output: [] } },
    { type: 'response.output_text.delta', sequence_number: 1, delta: 'four' },
    { type: 'response.function_call_arguments.delta', sequence_number: 2, delta: '{"a":1}ls' },
    { type: 'response.output_item.done', sequence_number: 3, item: { type: 'function_call', name: 'ls' } },
    { type: 'response.completed', response: { model: 'm-1', usage: { input_tokens: 9, output_tokens: 12 } } },
  ],
  gemini: [
    {
      modelVersion: 'm-1',
      candidates: [{ content: { parts: [{ text: 'fourfourfourf' }] } }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1 },
    },
    {
      candidates: [{ content: { parts: [{ text: '' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 12 },
    },
  ],
};

const request: RequestFacts = { model: 'm-asked', isStream: true, hasTools: true };

function read(shape: ApiShape, events: readonly unknown[]): AnswerReader {
  const reader = shape.createReader(request);
  for (const each of events) reader.readEvent(typeof each === 'string' ? each : JSON.stringify(each));
  return reader;
}

/** Reads events of the gateway with a reader of the same API. */
function readOwn(shape: ApiShape, text: string, before: readonly unknown[] = []): AnswerReader {
  const reader = read(shape, before);
  for (const { data } of new EventSplitter().push(Buffer.from(text)))
    if (data.length > 0) reader.readEvent(data.join('\n'));
  return reader;
}

for (const shape of shapes) {
  const events = streams[shape.name]!;

  test(`${shape.name}: a stream is read: usage, model, written characters, end`, () => {
    const whole = read(shape, events);
    assert.equal(whole.isEnded, true);
    assert.equal(whole.isUsageFinal, true);
    assert.equal(whole.model, 'm-1');
    assert.equal(whole.error, undefined);
    assert.equal(whole.writtenLength, 13);
    const counts = Object.values(whole.usage!);
    assert.ok(counts.includes(9) && counts.includes(12), JSON.stringify(whole.usage));
    assert.equal(whole.endStream('too late'), '');
  });

  test(`${shape.name}: a stream that is cut anywhere is ended with events of that API`, () => {
    for (let cut = 0; cut < events.length - 1; cut++) {
      const before = events.slice(0, cut);
      const ending = read(shape, before).endStream('The budget is spent.');
      const reader = readOwn(shape, ending, before);
      assert.equal(reader.isEnded, true, `after ${cut} events`);
      assert.ok(ending.endsWith('\n\n'));
    }
  });

  test(`${shape.name}: a stream that is cut tells the metered tokens where the provider told none`, () => {
    const wanting = { ...request, asksForUsage: true };
    const before = events.slice(0, 1).map((each) => ({ ...(each as Fields), usageMetadata: undefined }));
    const reader = shape.createReader(wanting);
    for (const each of before) reader.readEvent(JSON.stringify(each));
    const ending = reader.endStream('The budget is spent.', { inputTokens: 9, outputTokens: 7 });
    const { usage } = readOwn(shape, ending, before);
    assert.deepEqual(readCounts(usage), { inputTokens: 9, outputTokens: 7, cacheReadTokens: 0, cacheWriteTokens: 0 });
  });

  test(`${shape.name}: a closing answer has one text, streamed or whole; a refusal has the shape of its errors`, () => {
    const streamed = shape.close('Done here.', request);
    assert.ok(streamed.body.includes('Done here.'));
    assert.equal(readOwn(shape, streamed.body).isEnded, true);
    const whole = shape.close('Done here.', { ...request, isStream: false });
    assert.ok(JSON.stringify(JSON.parse(whole.body)).includes('Done here.'));
    const refusal = shape.refuse('no money left', 'token_spend_limit');
    const { error } = JSON.parse(refusal.body) as { readonly error: Fields };
    assert.equal(error.message, 'no money left');
    assert.equal(refusal.status, shape.name === 'openai-responses' ? 400 : 402);
  });

  test(`${shape.name}: events that nobody expects neither throw nor end the stream`, () => {
    const odd = ['', 'null', '[]', '{', '"x"', '{"type":5}', '{"choices":{}}', '{"candidates":[null]}', '{"delta":1}'];
    const reader = read(shape, odd);
    assert.equal(reader.isEnded, false);
    assert.equal(reader.usage, undefined);
  });
}

const targets: readonly (readonly [string, string, string, string, string?])[] = [
  ['POST', '/v1/messages', 'model', 'anthropic'],
  ['POST', '/v1/messages?beta=true', 'model', 'anthropic'],
  ['POST', '/task/a%20b/v1/messages', 'model', 'anthropic', 'a b'],
  ['POST', '/v1/messages/count_tokens', 'free', 'anthropic'],
  ['POST', '/v1/messages/batches', 'unpriced', 'anthropic'],
  ['POST', '/v1/chat/completions', 'model', 'openai'],
  ['POST', '/v1/responses', 'model', 'openai'],
  ['POST', '/v1/images/generations', 'unpriced', 'openai'],
  ['GET', '/v1/models', 'free', 'openai'],
  ['POST', '/v1beta/models/gemini-3:streamGenerateContent?alt=sse', 'model', 'gemini'],
  ['POST', '/v1beta/models/gemini-3:countTokens', 'free', 'gemini'],
];

for (const [method, url, kind, provider, task] of targets) {
  test(`${method} ${url} is ${kind} of ${provider}`, () => {
    const target = readTarget(method, url, {});
    assert.deepEqual([target?.kind, target?.provider, target?.task], [kind, provider, task]);
  });
}

test('a target that is no plain path is refused', () => {
  const odd = [
    'http://evil/v1/messages',
    '//evil/v1/messages',
    '/task/x/../../v1',
    '/v1/%2e%2e/x',
    '/v1/a%2fb',
    '/v1\\x',
  ];
  for (const url of [...odd, '*', '', '/v1/%0d%0ax', '/task/%zz/v1/messages'])
    assert.equal(readTarget('POST', url, {}), undefined, url);
  assert.equal(findShape('/v1/messages/'), undefined);
});
