import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, messageOf, openGateway, sendJson, streamHead, streamTail, streamText } from './harness.ts';

const tools = [{ name: 'read', input_schema: { type: 'object' } }];

test('a task that has spent its limit gets one closing answer without tools, from the reserve', async (context) => {
  const { post, received, task } = await openGateway(context, {
    policy: { gateway: { closing_reserve_cents: 3 } },
    limits: { maxSpendCents: 10 },
    answer({ body }, response) {
      if (!body.includes('"stream":true')) return sendJson(response, messageOf('hi', 20_000, 100));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.end(streamHead(100) + streamText('all is said') + streamTail(1_000));
    },
  });
  const body = { ...ask, max_tokens: 64_000, tools };
  assert.equal((await post('/task/a/v1/messages', body)).status, 200);
  const side = await post('/task/a/v1/messages', ask);
  assert.equal(side.status, 402, 'a title is no closing answer');
  const closing = await post('/task/a/v1/messages', { ...body, stream: true });
  assert.equal(closing.status, 200);
  assert.match(await closing.text(), /all is said.*message_stop/s);
  const sent = JSON.parse(received.at(-1)!.body) as { max_tokens: number; tool_choice: unknown; tools: unknown };
  assert.deepEqual(sent.tool_choice, { type: 'none' });
  assert.deepEqual(sent.tools, tools);
  assert.ok(sent.max_tokens > 1_500 && sent.max_tokens <= 2_000, `${sent.max_tokens}`);
  assert.equal((await post('/task/a/v1/messages', body)).status, 402);
  // 61,500 before, then 100 and 1,000 tokens.
  assert.equal(task('gw-a').cells.budget.state.micros, 61_500 + 300 + 15_000);
  assert.equal(received.length, 2);
});

test('a reserve that is too small for a call gives a closing text of the gateway', async (context) => {
  const { post, received } = await openGateway(context, {
    policy: { gateway: { closing_reserve_cents: 1 } },
    limits: { maxSpendCents: 5 },
    answer: (_, response) => sendJson(response, messageOf('hi', 10_000, 900)),
  });
  const body = { ...ask, max_tokens: 2_000, tools, system: 'many words '.repeat(5_000) };
  assert.equal((await post('/task/a/v1/messages', { ...ask, tools })).status, 200);
  const closing = await post('/task/a/v1/messages', body);
  assert.equal(closing.status, 200);
  const { content, stop_reason: reason } = (await closing.json()) as {
    content: { text: string }[];
    stop_reason: string;
  };
  assert.match(content[0]!.text, /Switchgear: spend/);
  assert.equal(reason, 'end_turn');
  assert.equal((await post('/task/a/v1/messages', body)).status, 402);
  assert.equal(received.length, 1);
});

test('by policy the limit of a stream is lowered to what is left, too', async (context) => {
  const { post, received } = await openGateway(context, {
    policy: { gateway: { clamp: 'always' } },
    limits: { maxSpendCents: 5 },
    answer(_, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(streamHead(100) + streamText('hi') + streamTail(10));
    },
  });
  const answer = await post('/task/a/v1/messages', { ...ask, max_tokens: 64_000, stream: true });
  assert.match(await answer.text(), /message_stop/);
  const { max_tokens: clamped } = JSON.parse(received[0]!.body) as { max_tokens: number };
  assert.ok(clamped > 2_500 && clamped <= 3_400, `${clamped}`);
});
