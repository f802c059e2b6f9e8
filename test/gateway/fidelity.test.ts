/** What clients get through the gateway is what they get directly: odd upstreams, clients and requests. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { halt } from '../../src/guard/internal.ts';
import {
  ask,
  messageOf,
  openGateway,
  readEvents,
  sendJson,
  sendRaw,
  streamHead,
  streamTail,
  streamText,
} from './harness.ts';

const stream = streamHead(500) + streamText('one') + streamTail(20);

for (const [name, compress] of [['gzip', gzipSync] as const, ['br', brotliCompressSync] as const]) {
  test(`an upstream that compresses without being asked is read and passed plainly: ${name}`, async (context) => {
    const { post, task } = await openGateway(context, {
      answer({ body }, response) {
        const isStream = body.includes('"stream":true');
        const type = isStream ? 'text/event-stream' : 'application/json';
        response.writeHead(200, { 'content-type': type, 'content-encoding': name });
        response.end(compress(isStream ? stream : JSON.stringify(messageOf('hi', 500, 20))));
      },
    });
    const whole = await post('/task/a/v1/messages', ask);
    assert.equal(whole.headers.get('content-encoding'), null);
    assert.deepEqual(await whole.json(), messageOf('hi', 500, 20));
    const streamed = await post('/task/a/v1/messages', { ...ask, stream: true });
    assert.equal(await streamed.text(), stream);
    assert.equal(task().cells.budget.state.tokens, 1_040);
  });
}

test('a compressed request is read, and passes in the bytes it came in', async (context) => {
  const { url, received, task } = await openGateway(context, {
    answer: (_, response) => sendJson(response, messageOf('hi', 500, 20)),
  });
  const body = gzipSync(JSON.stringify(ask));
  const headers = { 'content-encoding': 'gzip' };
  const answer = await fetch(`${url}/task/a/v1/messages`, { method: 'POST', headers, body });
  assert.equal(answer.status, 200);
  assert.equal(received[0]!.headers['content-length'], `${body.length}`);
  assert.equal(received[0]!.headers['content-encoding'], 'gzip');
  assert.equal(task().cells.budget.state.tokens, 520);
  const odd = await fetch(`${url}/v1/messages`, { method: 'POST', headers: { 'content-encoding': 'rot13' }, body });
  assert.equal(odd.status, 415);
});

test('200 parallel streams of one task are each passed whole and counted once', async (context) => {
  const { post, task } = await openGateway(context, {
    answer(_, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(stream);
    },
  });
  const calls = Array.from({ length: 200 }, async () => {
    const answer = await post('/task/a/v1/messages', { ...ask, stream: true });
    assert.equal(await answer.text(), stream);
  });
  await Promise.all(calls);
  const { tokens, reservedTokens, modelCalls } = task().cells.budget.state;
  assert.deepEqual({ tokens, reservedTokens, modelCalls }, { tokens: 104_000, reservedTokens: 0, modelCalls: 200 });
});

test('a picture of a megabyte passes, and does not count as a megabyte of text', async (context) => {
  const { post, received } = await openGateway(context, {
    limits: { maxSpendCents: 50 },
    answer: (_, response) => sendJson(response, messageOf('hi', 2_000, 20)),
  });
  const data = Buffer.alloc(1_000_000, 'picture').toString('base64');
  const source = { type: 'base64', media_type: 'image/png', data };
  const body = JSON.stringify({ ...ask, messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
  assert.equal((await post('/task/a/v1/messages', body)).status, 200);
  assert.equal(received[0]!.body, body);
});

test('a client that drops its request leaves the connection of other requests alone', async (context) => {
  const dropped = Promise.withResolvers<void>();
  const { url, post, received } = await openGateway(context, {
    async answer({ body }, response) {
      if (body.includes('slow')) await dropped.promise;
      sendJson(response, messageOf('hi', 1, 1));
    },
  });
  await post('/task/a/v1/messages', ask);
  const closing = new AbortController();
  const slow = JSON.stringify({ ...ask, system: 'slow' });
  const request = fetch(`${url}/task/a/v1/messages`, { method: 'POST', body: slow, signal: closing.signal });
  request.catch(() => {});
  while (received.length < 2) await new Promise((resolve) => setImmediate(resolve));
  closing.abort();
  await received[1]!.aborted;
  dropped.resolve();
  for (let at = 0; at < 3; at++) assert.equal((await post('/task/a/v1/messages', ask)).status, 200);
});

test('a halt ends calls on connections that earlier calls opened', async (context) => {
  const { post, received, runtime } = await openGateway(context, {
    answer({ body }, response) {
      if (body.includes('slow')) return undefined;
      return sendJson(response, messageOf('hi', 1, 1));
    },
  });
  await Promise.all([post('/task/a/v1/messages', ask), post('/task/b/v1/messages', ask)]);
  const slow = [post('/task/a/v1/messages', { ...ask, system: 'slow' }), post('/task/b/v1/messages', ask)];
  while (received.length < 4) await new Promise((resolve) => setImmediate(resolve));
  const halted = [...runtime.tasks.values()].find(({ id }) => id === 'gw-a')!;
  const stop = { kind: 'halt', code: 'operator_halt', control: 'operator', counters: {}, reason: 'enough' } as const;
  halt(runtime, halted, stop, 'operator', runtime.clock.nowMs());
  assert.deepEqual(
    (await Promise.all(slow)).map(({ status }) => status),
    [402, 200],
  );
  await received.find(({ body }) => body.includes('slow'))!.aborted;
  assert.equal((await post('/task/b/v1/messages', ask)).status, 200);
});

test('a short stream that came at once and passes the limit is ended, and the gateway goes on', async (context) => {
  const bytes = streamHead(100) + streamText('word '.repeat(2_000)) + streamTail(2_500);
  const { post } = await openGateway(context, {
    limits: { maxSpendCents: 2 },
    answer(_, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': Buffer.byteLength(bytes) });
      response.end(bytes);
    },
  });
  for (let at = 0; at < 20; at++) {
    const answer = await post(`/task/t${at}/v1/messages`, { ...ask, stream: true, max_tokens: 8_000 });
    assert.match(await answer.text(), /message_stop/);
  }
});

const hostile: Readonly<Record<string, readonly string[]>> = {
  'two lengths': ['Content-Length: 2', 'Content-Length: 40'],
  'a length and chunks': ['Content-Length: 2', 'Transfer-Encoding: chunked'],
  'an unknown coding': ['Transfer-Encoding: xchunked'],
  'a line break in a header': ['X-A: b\rX-C: d', 'Content-Length: 2'],
  'two hosts': ['Host: evil.example', 'Content-Length: 2'],
};

for (const [name, lines] of Object.entries(hostile)) {
  test(`a request that two servers could read differently reaches no upstream: ${name}`, async (context) => {
    const { port, received } = await openGateway(context);
    const socket = connect(port, '127.0.0.1');
    const head = ['POST /v1/messages HTTP/1.1', `Host: 127.0.0.1:${port}`, ...lines, '', '{}'];
    socket.on('error', () => {});
    socket.end(head.join('\r\n'));
    let text = '';
    try {
      for await (const part of socket) text += part;
    } catch {
      // The connection was closed.
    }
    assert.doesNotMatch(text, /^HTTP\/1\.1 2/);
    assert.equal(received.length, 0);
  });
}

test('targets that are no plain paths reach no upstream', async (context) => {
  const { port, received } = await openGateway(context);
  const paths = [
    '//evil.example/v1/models',
    '/v1/../admin',
    '/v1/%2e%2e/admin',
    '/v1/models%0d%0aX:%20y',
    '/a\\b',
    '/task/x/../y',
  ];
  for (const path of paths) {
    const { status } = await sendRaw(port, { path });
    assert.equal(status, 400, path);
  }
  assert.equal(received.length, 0);
});

const words = 'word '.repeat(80);

const ended: Readonly<
  Record<string, readonly [path: string, body: object, chunk: string, isEnded: (text: string) => boolean]>
> = {
  chat: [
    '/v1/chat/completions',
    { model: 'gpt-5', stream: true, messages: [] },
    `data: ${JSON.stringify({ id: 'c', model: 'gpt-5', choices: [{ index: 0, delta: { content: words } }] })}\n\n`,
    (text) => text.endsWith('data: [DONE]\n\n') && text.includes('"finish_reason":"stop"'),
  ],
  responses: [
    '/v1/responses',
    { model: 'gpt-5', stream: true, input: 'x' },
    `data: ${JSON.stringify({ type: 'response.output_text.delta', sequence_number: 1, delta: words })}\n\n`,
    (text) => readEvents(text).at(-1)!.type === 'response.completed',
  ],
  gemini: [
    '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
    { contents: [] },
    `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text: words }] } }] })}\r\n\r\n`,
    (text) => text.includes('"finishReason":"STOP"'),
  ],
};

for (const [name, [path, body, chunk, isEnded]] of Object.entries(ended)) {
  test(`a stream is cut with a last event of its API, and the next call is refused: ${name}`, async (context) => {
    const { post } = await openGateway(context, {
      limits: { maxSpendCents: 5 },
      async answer(_, response) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let at = 0; at < 3_000 && !response.destroyed; at++) {
          response.write(chunk);
          if (at % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        response.end();
      },
    });
    const text = await (await post(`/task/a${path}`, body)).text();
    assert.ok(isEnded(text), text.slice(-500));
    assert.match(text, /Switchgear/);
    const refused = await post(`/task/a${path}`, body);
    assert.equal(refused.status, name === 'responses' ? 400 : 402);
    assert.equal(refused.headers.get('x-should-retry'), 'false');
  });
}
