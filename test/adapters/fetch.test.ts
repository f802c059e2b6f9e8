/** The SDKs of two providers on a guarded `fetch`, answered as the providers answer. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { createSwitchgear, type PolicyInput } from 'switchgear';
import { protect } from 'switchgear/adapters/fetch';

const key = { apiKey: 'none', maxRetries: 2 };
const question = [{ role: 'user' as const, content: 'Hello?' }];

/** A provider that gives these answers one after the other, and the last one for ever. */
function stage(answers: readonly (() => Response)[], policy: PolicyInput = {}) {
  const gear = createSwitchgear({ log: 'silent', env: {}, policy });
  let asked = 0;
  const provider = async (): Promise<Response> => (answers[Math.min(asked++, answers.length - 1)] ?? answers[0])!();
  const fetch = protect(provider as typeof globalThis.fetch, { gear });
  const openai = new OpenAI({ ...key, fetch });
  const anthropic = new Anthropic({ ...key, fetch });
  return { gear, task: gear.startTask(), openai, anthropic, asked: () => asked };
}

const json =
  (body: object, status = 200) =>
  () =>
    Response.json(body, { status });
const events = (...data: readonly object[]) => {
  const text = data
    .map((each) => `event: ${Reflect.get(each, 'type') ?? 'x'}\ndata: ${JSON.stringify(each)}\n\n`)
    .join('');
  return () => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
};

const chat = {
  id: 'c',
  object: 'chat.completion',
  model: 'gpt-4o',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }],
  usage: { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 60 } },
};
const ask = (openai: OpenAI) => openai.chat.completions.create({ model: 'gpt-4o', messages: question });

test('an OpenAI response passes unchanged, and its cost counts for the task', async () => {
  const { openai, task } = stage([json(chat)]);
  const answer = await task.run(() => ask(openai));
  assert.equal(answer.choices[0]?.message.content, 'Hello.');
  assert.equal(task.snapshot().tokens, 120);
  assert.ok(task.snapshot().spendUsd > 0);
});

test('an Anthropic stream passes unchanged, and its usage, including cache tokens, counts once', async () => {
  const usage = { input_tokens: 10, cache_read_input_tokens: 1000, cache_creation_input_tokens: 200, output_tokens: 1 };
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'claude-sonnet-4', content: [], usage };
  const { anthropic, task } = stage([
    events(
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 30 } },
      { type: 'message_stop' },
    ),
  ]);
  const stream = task.run(() =>
    anthropic.messages.stream({ model: 'claude-sonnet-4', max_tokens: 100, messages: question }),
  );
  assert.equal(await stream.finalText(), 'Hello.');
  assert.equal(task.snapshot().tokens, 1240);
});

test('the usage of an OpenAI Responses stream is read from the last event', async () => {
  const usage = { input_tokens: 50, output_tokens: 5, input_tokens_details: { cached_tokens: 40 } };
  const response = { id: 'r', object: 'response', model: 'gpt-4o', output: [], usage };
  const { openai, task } = stage([events({ type: 'response.completed', response })]);
  const stream = await task.run(() => openai.responses.create({ model: 'gpt-4o', input: 'Hello?', stream: true }));
  for await (const event of stream) assert.equal(event.type, 'response.completed');
  assert.equal(task.snapshot().tokens, 55);
});

test('after the spend limit is reached, a request is refused and the SDK does not retry', async () => {
  const { openai, task, asked } = stage([json(chat)], { task: { max_tokens: 100 } });
  await task.run(() => ask(openai));
  await assert.rejects(
    task.run(() => ask(openai)),
    (error) => error instanceof OpenAI.PermissionDeniedError && /tokens: 120 of 100/.test(error.message),
  );
  assert.equal(asked(), 1);
  assert.equal(task.halt?.code, 'token_limit');
});

test('five failures open the breaker of a provider, and the refusal appears as an SDK error', async () => {
  const { anthropic, task, asked, gear } = stage([
    json({ type: 'error', error: { type: 'api_error', message: 'down' } }, 500),
  ]);
  const send = () =>
    task.run(() =>
      anthropic.messages.create({ model: 'claude-sonnet-4', max_tokens: 9, messages: question }, { maxRetries: 0 }),
    );
  for (let attempt = 0; attempt < 5; attempt++) await assert.rejects(send(), Anthropic.InternalServerError);
  await assert.rejects(
    send(),
    (error) => error instanceof Anthropic.PermissionDeniedError && /circuit/.test(error.message),
  );
  assert.equal(asked(), 5);
  assert.equal(gear.breaker('api.anthropic.com/claude-sonnet-4').state, 'OPEN');
});

test('an invalid request is not a failure of the provider', async () => {
  const { openai, task, gear } = stage([json({ error: { message: 'no such model' } }, 404)]);
  await assert.rejects(
    task.run(() => ask(openai)),
    OpenAI.NotFoundError,
  );
  assert.equal(gear.breaker('api.openai.com/gpt-4o').stats.totalFailures, 0);
});

test('outside any task responses pass unchanged', async () => {
  const { openai } = stage([json(chat)]);
  assert.equal((await ask(openai)).choices.length, 1);
});

test('an OpenAI stream without usage is estimated from its characters, and marked as estimated', async () => {
  const chunk = (content: string) => ({ id: 'c', model: 'gpt-4o', choices: [{ index: 0, delta: { content } }] });
  const { openai, task } = stage([events(chunk('x'.repeat(4000)), chunk('y'.repeat(4000)))]);
  const messages = [{ role: 'user' as const, content: 'z'.repeat(40_000) }];
  await task.run(async () => {
    for await (const _ of await openai.chat.completions.create({ model: 'gpt-4o', messages, stream: true }));
  });
  const { tokens, spendUsd, estimatedUsd } = task.snapshot();
  assert.ok(tokens > 12_000 && tokens < 12_100, `${tokens}`);
  assert.equal(estimatedUsd, spendUsd);
});

test('an Anthropic stream that breaks off has its input, and an estimate of its output', async () => {
  const usage = { input_tokens: 1000, output_tokens: 1 };
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'claude-sonnet-4', content: [], usage };
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x'.repeat(4000) } };
  const start = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
  const { anthropic, task } = stage([events({ type: 'message_start', message }, start, delta, delta)]);
  await task.run(async () => {
    const stream = await anthropic.messages.create({ model: 'x', max_tokens: 9, messages: question, stream: true });
    for await (const event of stream) if (event.type === 'content_block_delta') break;
  });
  const { tokens, estimatedUsd } = task.snapshot();
  assert.ok(tokens >= 2000 && tokens <= 3000, `${tokens}`);
  assert.ok((estimatedUsd ?? 0) > 0);
});

test('a model that only the price book knows has its price without being asked', async () => {
  const { openai, task } = stage([json({ ...chat, model: 'gpt-4-32k' })]);
  await task.run(() => openai.chat.completions.create({ model: 'gpt-4-32k', messages: question }));
  assert.equal(task.snapshot().guessedUsd, undefined);
  assert.ok(Math.abs(task.snapshot().spendUsd - (100 * 60 + 20 * 120) / 1e6) < 1e-6);
});
