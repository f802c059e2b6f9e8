/** Requests that would spend past the budget of their task, or disturb the requests of others. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { readTarget } from '../../src/gateway/target.ts';
import { identifyTask } from '../../src/gateway/task-identity.ts';
import { messageOf, openGateway, sendJson, sonnet, streamHead, streamText } from './harness.ts';

const limited = { isLimited: true, limits: { maxSpendCents: 5 } } as const;

/** Sends bytes, and resolves when the first bytes of an answer have come. */
function sendBytes(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('error', reject);
    socket.on('data', (data) => {
      resolve(data.toString());
      socket.destroy();
    });
  });
}

test('the body of a free request is never read as another request by the upstream', async (context) => {
  const { port, received } = await openGateway(context, limited);
  const inner = JSON.stringify({ model: sonnet, max_tokens: 64_000, messages: [] });
  const hidden = `POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`;
  const head = `GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`;
  const chunk = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
  await sendBytes(port, `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}`);
  await sendBytes(port, `${head}Content-Length: ${hidden.length}\r\nConnection: content-length\r\n\r\n${hidden}`);
  await sendBytes(port, `${head}\r\n`);
  assert.deepEqual(
    received.map(({ method, url, body }) => [method, url, body]),
    [
      ['GET', '/v1/models', hidden],
      ['GET', '/v1/models', hidden],
      ['GET', '/v1/models', ''],
    ],
  );
});

test('a header cannot make a model call of a free request', async (context) => {
  const { port, received } = await openGateway(context, limited);
  const head = `GET /v1beta/models/gemini-2.5-pro:generateContent HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`;
  await sendBytes(port, `${head}X-HTTP-Method-Override: POST\r\n\r\n`);
  assert.equal(received[0]!.headers['x-http-method-override'], undefined);
});

test('several answers at once are limited together', async (context) => {
  const { post, received } = await openGateway(context, {
    ...limited,
    answer: (_, response) => sendJson(response, { usage: { prompt_tokens: 10, completion_tokens: 10 } }),
  });
  await post('/v1/chat/completions', { model: 'gpt-4o', n: 100, max_tokens: 1_000, messages: [] });
  const { n, max_tokens: limit } = JSON.parse(received[0]!.body) as { n: number; max_tokens: number };
  // Five cents are 5,000 tokens of output at ten dollars a million.
  assert.ok(n * limit <= 5_000, `${n} answers of ${limit}`);
});

test('the limit of a compressed request is lowered, too', async (context) => {
  const { url, received } = await openGateway(context, {
    ...limited,
    answer: (_, response) => sendJson(response, messageOf('hi', 10, 10)),
  });
  const body = JSON.stringify({ model: sonnet, max_tokens: 64_000, messages: [] });
  const send = (encoding: string, bytes: string | Buffer<ArrayBuffer>) =>
    fetch(`${url}/v1/messages`, { method: 'POST', headers: { 'content-encoding': encoding }, body: bytes });
  assert.equal((await send('gzip', gzipSync(body))).status, 200);
  assert.equal(received[0]!.headers['content-encoding'], undefined);
  assert.ok((JSON.parse(received[0]!.body) as { max_tokens: number }).max_tokens <= 3_400);
  assert.equal((await send('constructor', body)).status, 415);
});

test('a stream of Gemini without events cannot be cut, so that its limit is lowered', async (context) => {
  const { post, received } = await openGateway(context, limited);
  const body = { contents: [], generationConfig: { maxOutputTokens: 65_000 } };
  await post('/v1beta/models/gemini-2.5-pro:streamGenerateContent', body);
  await post('/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse', body);
  const limitOf = (text: string) => (JSON.parse(text) as typeof body).generationConfig.maxOutputTokens;
  assert.ok(limitOf(received[0]!.body) <= 5_000);
  assert.equal(limitOf(received[1]!.body), 65_000);
});

test('a response in the background costs as much as it may', async (context) => {
  const { post, received, task } = await openGateway(context, {
    ...limited,
    answer: (_, response) => sendJson(response, { status: 'queued', model: 'gpt-5', output: [], usage: null }),
  });
  const body = { model: 'gpt-5', input: 'hi', background: true, max_output_tokens: 2_000 };
  assert.equal((await post('/task/a/v1/responses', body)).status, 200);
  assert.ok(task('gw-a').cells.budget.state.tokens >= 2_000);
  await post('/task/a/v1/responses', body);
  assert.equal((await post('/task/a/v1/responses', body)).status, 400);
  assert.equal(received.length, 2);
});

test('an answer without usage costs what its letters are worth, in every script', async (context) => {
  const { post, task } = await openGateway(context, {
    answer({ url }, response) {
      if (url.endsWith('/completions')) {
        sendJson(response, { choices: [{ message: { role: 'assistant', content: 'word '.repeat(4_000) } }] });
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(streamHead(10) + streamText('水'.repeat(4_000)), () => response.destroy());
    },
  });
  await post('/task/whole/v1/chat/completions', { model: 'gpt-4o', messages: [] });
  assert.ok(task('gw-whole').cells.budget.state.tokens >= 4_000);
  const stream = await post('/task/script/v1/messages', { model: sonnet, max_tokens: 64_000, stream: true });
  await assert.rejects(stream.text());
  assert.ok(task('gw-script').cells.budget.state.tokens >= 3_000);
});

test('a client that leaves while a person is asked leaves no reservation behind', async (context) => {
  let approve = () => {};
  const leaving = new AbortController();
  const approver = {
    name: 'ann',
    ask: () =>
      new Promise<{ approved: boolean; by: string }>((resolve) => {
        approve = () => resolve({ approved: true, by: 'ann' });
        leaving.abort();
      }),
  };
  const { url, task, received, runtime } = await openGateway(context, {
    gear: { approver, policy: { task: { max_model_calls: 1, at_limit: 'ask' } } },
  });
  const send = (signal?: AbortSignal) =>
    fetch(`${url}/task/a/v1/messages`, {
      ...{ method: 'POST', body: JSON.stringify({ model: sonnet, messages: [] }), signal: signal ?? null },
    });
  await (await send()).text();
  await assert.rejects(send(leaving.signal));
  await sleep(50); // The gateway sees that the client is gone.
  approve();
  await sleep(50);
  const { reservedMicros, reservedTokens } = task('gw-a').cells.budget.state;
  assert.deepEqual([reservedMicros, reservedTokens, received.length], [0, 0, 1]);
  assert.equal(runtime.halted.size, 0);
});

// A search whose time grows with the square of the length would take minutes.
test('a user id that is made to be slow is read at once', () => {
  const identity = identifyTask(undefined, {}, { metadata: { user_id: `${'_session'.repeat(50_000)}!` } });
  assert.match(identity.id, /^gw-[0-9a-f]{32}$/);
  const { id } = identifyTask(
    undefined,
    {},
    { metadata: { user_id: `user_${'a'.repeat(64)}_session_0123-4567-89ab` } },
  );
  assert.equal(id, 'gw-0123-4567-89ab');
});

test('what tools of the provider put into the prompt is metered', async (context) => {
  const usageMetadata = { promptTokenCount: 10, toolUsePromptTokenCount: 1_000, candidatesTokenCount: 5 };
  const { post, task } = await openGateway(context, {
    answer: (_, response) => sendJson(response, { candidates: [], usageMetadata, modelVersion: 'gemini-2.5-pro' }),
  });
  await post('/task/a/v1beta/models/gemini-2.5-pro:generateContent', { contents: [] });
  assert.equal(task('gw-a').cells.budget.state.tokens, 1_015);
});

test('a path that cannot be metered is not sent if its client leaves while a person is asked', async (context) => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<{ approved: boolean; by: string }>();
  const ask = () => {
    asked.resolve();
    return answer.promise;
  };
  const { url, received } = await openGateway(context, {
    gear: { approver: { name: 'ann', ask }, policy: { rules: ['ability:unpriced|confirm|"Send?"'] } },
  });
  const closing = new AbortController();
  const sent = fetch(`${url}/v1/images`, { method: 'POST', body: '{}', signal: closing.signal }).catch(() => 'gone');
  await asked.promise;
  closing.abort();
  assert.equal(await sent, 'gone');
  await sleep(50); // Until the gateway has seen it.
  answer.resolve({ approved: true, by: 'ann' });
  await fetch(`${url}/v1/models`);
  await sleep(20);
  assert.deepEqual(
    received.map((each) => each.url),
    ['/v1/models'],
  );
});

test('the APIs of OpenAI at Gemini go to Gemini', () => {
  for (const path of ['/v1beta/openai/chat/completions', '/v1beta/openai/embeddings', '/v1beta/openai/models'])
    assert.equal(readTarget('POST', path, {})?.provider, 'gemini');
  assert.equal(readTarget('POST', '/v1/chat/completions', {})?.provider, 'openai');
});

test('the policy allows paths that cannot be metered by name', async (context) => {
  const { post } = await openGateway(context, {
    isLimited: true,
    gear: { policy: { gateway: { allowUnpriced: ['/v1/images/*'] } } },
  });
  assert.equal((await post('/v1/images/generations', {})).status, 200);
  assert.equal((await post('/v1/messages/batches', {})).status, 402);
});

test('a model call in another spelling of its path is metered like the call', async (context) => {
  const { post, received, task } = await openGateway(context, {
    answer: (_, response) => sendJson(response, messageOf('hi', 1_000, 10)),
  });
  const body = { model: sonnet, max_tokens: 1_000, messages: [] };
  const ofMessages = [
    '/v1/messages/',
    '/v1//messages',
    '/V1/Messages',
    '/v1/%6dessages',
    '/v1/messages;a=1',
    '/v1/messages%20',
  ];
  const ofOthers = ['/v1/chat/completions/', '/v1/Responses', '/v1beta/models/gemini-2.5-pro%3AgenerateContent'];
  for (const path of [...ofMessages, ...ofOthers]) {
    const before = received.length;
    await (await post(`/task/a${path}?beta=true`, body)).text();
    assert.equal(received[before]?.url, `${path}?beta=true`, 'the path passes as it came');
    const { modelCalls, tokens } = task('gw-a').cells.budget.state;
    assert.equal(modelCalls, before + 1);
    assert.ok(tokens >= 10 * (before + 1), `${path}: ${tokens}`);
  }
  for (const path of ['/v1/models/', '/v1//models', '/v1/Models'])
    assert.equal(readTarget('GET', path, {})?.kind, 'unpriced', 'a free path is free in one spelling alone');
});

test('counts that say nothing make no answer free', async (context) => {
  const text = 'word '.repeat(1_000);
  const unreadable = { input_tokens: 'a', output_tokens: null };
  for (const usage of [
    {},
    [],
    unreadable,
    { input_tokens: 0, output_tokens: 0 },
    { input_tokens: -5, output_tokens: -7 },
  ]) {
    const { post, task } = await openGateway(context, {
      answer({ body }, response) {
        if (!body.includes('"stream":true')) return sendJson(response, { ...messageOf(text, 1, 1), usage });
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const last = JSON.stringify({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
        return response.end(`${streamHead(0)}${streamText(text)}data: ${last}\n\ndata: {"type":"message_stop"}\n\n`);
      },
    });
    for (const stream of [true, false]) {
      const id = stream ? 'stream' : 'whole';
      await (await post(`/task/${id}/v1/messages`, { model: sonnet, max_tokens: 3_000, messages: [], stream })).text();
      const { tokens, micros, reservedMicros } = task(`gw-${id}`).cells.budget.state;
      assert.ok(tokens >= 1_200 && tokens < 2_000, `${JSON.stringify(usage)} ${id}: ${tokens}`);
      assert.ok(micros >= 15 * 1_200 && reservedMicros === 0);
    }
  }
});

test('an answer that the gateway cannot read costs what its bytes are worth', async (context) => {
  const { post, task } = await openGateway(context, {
    answer(_, response) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(Buffer.alloc(40_000, 'x'));
    },
  });
  const got = await post('/task/a/v1/chat/completions', { model: 'gpt-4o', messages: [] });
  assert.equal((await got.arrayBuffer()).byteLength, 40_000);
  assert.ok(task('gw-a').cells.budget.state.tokens >= 10_000);
});

test('what is written after the last counts of a stream is metered', async (context) => {
  const chunk = 'word '.repeat(400);
  const streams: Readonly<Record<string, readonly [head: string, part: string]>> = {
    '/v1/messages': [
      `${streamHead(10)}data: {"type":"message_delta","delta":{},"usage":{"output_tokens":1}}\n\n`,
      streamText(chunk),
    ],
    '/v1/chat/completions': [
      'data: {"model":"gpt-4o","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":0}}\n\n',
      `data: {"model":"gpt-4o","choices":[{"index":0,"delta":{"content":"${chunk}"}}]}\n\n`,
    ],
    '/v1/responses': [
      'data: {"type":"response.completed","response":{"usage":{"input_tokens":10,"output_tokens":1}}}\n\n',
      `data: {"type":"response.output_text.delta","delta":"${chunk}"}\n\n`,
    ],
    '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse': [
      'data: {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"candidatesTokenCount":1}}\n\n',
      `data: {"candidates":[{"content":{"parts":[{"text":"${chunk}"}]}}]}\n\n`,
    ],
  };
  const { post, runtime } = await openGateway(context, {
    limits: { maxSpendCents: 10 },
    async answer({ url }, response) {
      const [head, part] = streams[url]!;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(head);
      for (let at = 0; at < 100 && !response.destroyed; at++) {
        response.write(part);
        await sleep(1);
      }
      response.end();
    },
  });
  for (const [at, path] of Object.keys(streams).entries()) {
    const body = { model: path.includes('messages') ? sonnet : 'gpt-4o', stream: true };
    await (await post(`/task/t${at}${path}`, body)).text().catch(() => '');
    const state = (runtime.halted.get(`gw-t${at}`) ?? runtime.tasks.get(`gw-t${at}`))!.cells.budget.state;
    assert.ok(state.micros >= 95_000 && state.micros <= 110_000, `${path}: ${state.micros}`);
  }
});
