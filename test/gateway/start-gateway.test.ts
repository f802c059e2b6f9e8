import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
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

test('a JSON answer passes byte for byte, and is metered on the task of its path', async (context) => {
  const { post, direct, received, task } = await openGateway(context, {
    answer: (_, response) => sendJson(response, messageOf('hi', 1_000, 100)),
  });
  const through = await post('/task/build/v1/messages', ask, { 'x-api-key': 'sk-1', 'anthropic-beta': 'a,b' });
  const plain = await fetch(`${direct}/v1/messages`, { method: 'POST', body: JSON.stringify(ask) });
  assert.equal(await through.text(), await plain.text());
  assert.equal(through.status, 200);
  assert.equal(through.headers.get('request-id'), 'req_1');
  const [first] = received;
  assert.equal(first!.url, '/v1/messages');
  assert.equal(first!.body, JSON.stringify(ask));
  assert.equal(first!.headers['x-api-key'], 'sk-1');
  assert.equal(first!.headers['anthropic-beta'], 'a,b');
  assert.equal(first!.headers.host, new URL(direct).host);
  const { tokens, micros, reservedMicros, reservedTokens, modelCalls } = task('gw-build').cells.budget.state;
  assert.deepEqual(
    { tokens, micros, reservedMicros, reservedTokens, modelCalls },
    { tokens: 1_100, micros: 4_500, reservedMicros: 0, reservedTokens: 0, modelCalls: 1 },
  );
});

test('a stream passes byte for byte and is metered by its last usage', async (context) => {
  const text = streamHead(2_000) + streamText('one ') + streamText('two') + streamTail(50);
  const { post, task } = await openGateway(context, {
    async answer(_, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let at = 0; at < text.length; at += 37) {
        response.write(text.slice(at, at + 37));
        if (at % 5 === 0) await sleep(1);
      }
      response.end();
    },
  });
  const answer = await post('/task/a/v1/messages', { ...ask, stream: true });
  assert.equal(await answer.text(), text);
  const { tokens, micros, reservedMicros } = task().cells.budget.state;
  assert.deepEqual({ tokens, micros, reservedMicros }, { tokens: 2_050, micros: 6_750, reservedMicros: 0 });
});

test('when the money is used up, the next call gets an answer that clients do not retry', async (context) => {
  const { post, received, task } = await openGateway(context, {
    limits: { maxSpendCents: 5 },
    answer: (_, response) => sendJson(response, messageOf('hi', 10_000, 1_500)),
  });
  assert.equal((await post('/task/a/v1/messages', ask)).status, 200);
  const refused = await post('/task/a/v1/messages', ask);
  assert.equal(refused.status, 402);
  assert.equal(refused.headers.get('x-should-retry'), 'false');
  const { type, error } = (await refused.json()) as { type: string; error: { message: string; code: string } };
  assert.equal(type, 'error');
  assert.equal(error.code, 'token_spend_limit');
  assert.match(error.message, /spend/);
  assert.equal(received.length, 1);
  assert.equal(task('gw-a').halt?.code, 'token_spend_limit');
  const other = await post('/task/b/v1/messages', ask);
  assert.equal(other.status, 200, 'another task goes on');
});

test('a stream is cut between two events when the money is used up, and its upstream is closed', async (context) => {
  let sent = 0;
  const { post, received, task } = await openGateway(context, {
    limits: { maxSpendCents: 5 },
    async answer(_, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(streamHead(100));
      for (; sent < 500 && !response.destroyed; sent++) {
        response.write(streamText('word '.repeat(80)));
        await sleep(1);
      }
      response.end(streamTail(50_000));
    },
  });
  const answer = await post('/task/a/v1/messages', { ...ask, max_tokens: 64_000, stream: true });
  const events = readEvents(await answer.text());
  assert.equal(events.at(-1)!.type, 'message_stop');
  const texts = events.map(({ delta }) => (delta as { text?: string } | undefined)?.text ?? '');
  assert.ok(texts.some((text) => text.includes('Switchgear')));
  await received[0]!.aborted;
  assert.ok(sent < 100, `${sent} chunks were sent`);
  const { micros, reservedMicros } = task().cells.budget.state;
  // One chunk has 100 tokens, each 15 millionths of a dollar.
  assert.ok(micros > 40_000 && micros <= 50_000 + 1_600, `${micros}`);
  assert.equal(reservedMicros, 0);
  assert.equal((await post('/task/a/v1/messages', ask)).status, 402);
});

test('a call is refused only if its prompt and 1,000 tokens do not fit', async (context) => {
  const { post } = await openGateway(context, {
    limits: { maxSpendCents: 500 },
    async answer(_, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      await sleep(50);
      response.end(streamHead(10) + streamText('done') + streamTail(5));
    },
  });
  const calls = Array.from({ length: 4 }, () =>
    post('/task/a/v1/messages', { ...ask, max_tokens: 64_000, stream: true }),
  );
  for (const answer of await Promise.all(calls)) assert.match(await answer.text(), /message_stop/);
});

test('a client that drops a stream pays for what came, and its reservation is released', async (context) => {
  const { url, received, task } = await openGateway(context, {
    async answer(_, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(streamHead(1_000) + streamText('x'.repeat(4_000)));
    },
  });
  const closing = new AbortController();
  const body = JSON.stringify({ ...ask, stream: true });
  const answer = await fetch(`${url}/task/a/v1/messages`, { method: 'POST', body, signal: closing.signal });
  const reader = answer.body!.getReader();
  for (let size = 0; size < 4_000; ) size += (await reader.read()).value?.length ?? 0;
  closing.abort();
  await received[0]!.aborted;
  const { tokens, reservedMicros, estimatedMicros = 0 } = task().cells.budget.state;
  assert.ok(tokens >= 2_000 && tokens < 2_200, `${tokens}`);
  assert.equal(reservedMicros, 0);
  assert.ok(estimatedMicros > 0);
});

test('in observe mode nothing is refused or cut, and a halt is reported', async (context) => {
  const { post, task, gear } = await openGateway(context, {
    gear: { mode: 'observe' },
    limits: { maxSpendCents: 1 },
    answer: (_, response) => sendJson(response, messageOf('hi', 100_000, 100)),
  });
  const halts: boolean[] = [];
  gear.on('task-halted', ({ enforced }) => halts.push(enforced));
  assert.equal((await post('/task/a/v1/messages', ask)).status, 200);
  assert.equal((await post('/task/a/v1/messages', ask)).status, 200);
  assert.equal(task().halt, undefined);
  assert.deepEqual(halts, [false]);
});

test('an error of the provider passes as it is, and costs nothing', async (context) => {
  const error = { type: 'error', error: { type: 'invalid_request_error', message: 'max_tokens: too large' } };
  const { post, task } = await openGateway(context, { answer: (_, response) => sendJson(response, error, 400) });
  const answer = await post('/task/a/v1/messages', ask);
  assert.equal(answer.status, 400);
  assert.deepEqual(await answer.json(), error);
  const { micros, reservedMicros, modelCalls } = task().cells.budget.state;
  assert.deepEqual({ micros, reservedMicros, modelCalls }, { micros: 0, reservedMicros: 0, modelCalls: 1 });
});

test('a broken stream breaks off for the client, which pays for what came', async (context) => {
  const { post, task } = await openGateway(context, {
    async answer(_, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(streamHead(1_000) + streamText('x'.repeat(400)));
      await sleep(20);
      response.destroy();
    },
  });
  const answer = await post('/task/a/v1/messages', { ...ask, stream: true });
  await assert.rejects(answer.text());
  const { tokens, reservedMicros } = task().cells.budget.state;
  assert.ok(tokens >= 1_100 && tokens < 1_200, `${tokens}`);
  assert.equal(reservedMicros, 0);
});

test('an upstream that cannot be reached is a 502 in the shape of the API', async (context) => {
  const { post, task, url } = await openGateway(context, { upstream: new URL('http://127.0.0.1:9') });
  const answer = await post('/task/a/v1/chat/completions', { model: 'gpt-5', messages: [] });
  assert.equal(answer.status, 502);
  assert.equal(answer.headers.get('x-switchgear-code'), 'upstream_unreachable');
  const { error } = (await answer.json()) as { error: { message: string } };
  assert.match(error.message, /: 127\.0\.0\.1:9 cannot be reached: ECONNREFUSED/);
  const list = await fetch(`${url}/v1/models`);
  assert.match(await list.text(), /127\.0\.0\.1:9 cannot be reached/);
  assert.equal(task().cells.budget.state.reservedMicros, 0);
});

test('free paths and other paths pass; paths without a price need leave where money is limited', async (context) => {
  const { post, url, received } = await openGateway(context, {
    isLimited: true,
    allowedPaths: ['/v1/images/*'],
    answer: (request, response) => sendJson(response, { url: request.url }),
  });
  const models = await fetch(`${url}/v1/models?limit=5`);
  assert.deepEqual(await models.json(), { url: '/v1/models?limit=5' });
  assert.equal((await post('/v1/messages/count_tokens', ask)).status, 200);
  assert.equal((await post('/v1/images/generations', { prompt: 'a' })).status, 200);
  const refused = await post('/v1/audio/speech', { input: 'a' });
  assert.equal(refused.status, 402);
  assert.equal(refused.headers.get('x-switchgear-code'), 'unpriced_path');
  assert.match(await refused.text(), /--allow-path \/v1\/audio\/speech/);
  assert.equal(received.length, 3);
});

test('health, WebSockets and foreign hosts and pages', async (context) => {
  const { url, port, received } = await openGateway(context);
  assert.deepEqual(await (await fetch(`${url}/health`)).json(), { status: 'ok' });
  assert.match(await (await fetch(url)).text(), /^The gateway of Switchgear .*\/health/);
  const foreign = await sendRaw(port, { path: '/v1/models', headers: { host: 'evil.example:4777' } });
  assert.equal(foreign.status, 403);
  const page = await sendRaw(port, { path: '/v1/models', headers: { origin: 'https://evil.example' } });
  assert.equal(page.status, 403);
  const absolute = await sendRaw(port, { path: 'http://evil.example/v1/models' });
  assert.equal(absolute.status, 400);
  const socket = connect(port, '127.0.0.1');
  const head = ['GET /v1/responses HTTP/1.1', `Host: 127.0.0.1:${port}`, 'Connection: Upgrade', 'Upgrade: websocket'];
  socket.write([...head, '', ''].join('\r\n'));
  let text = '';
  for await (const part of socket) text += part;
  assert.match(text, /^HTTP\/1\.1 426 /);
  assert.equal(received.length, 0);
});

test('a whole answer is limited to what is left, and other requests keep their bytes', async (context) => {
  const { post, received, task } = await openGateway(context, {
    limits: { maxSpendCents: 10 },
    answer: (_, response) => sendJson(response, messageOf('hi', 100, 2_000)),
  });
  await post('/task/a/v1/messages', { ...ask, max_tokens: 4_000 });
  await post('/task/a/v1/messages', { ...ask, max_tokens: 64_000 });
  assert.equal(received[0]!.body, JSON.stringify({ ...ask, max_tokens: 4_000 }));
  const { max_tokens: clamped, ...rest } = JSON.parse(received[1]!.body) as { max_tokens: number };
  assert.deepEqual({ ...rest, max_tokens: 1_000 }, ask);
  // Of ten cents, three are spent; a token costs 15 millionths of a dollar.
  assert.ok(clamped > 3_500 && clamped <= 4_670, `${clamped}`);
  assert.equal(task().cells.budget.state.reservedMicros, 0);
});

test('a joint budget of a dollar under 50 parallel streams is passed by one chunk of each at most', async (context) => {
  const policy = { budgets: [{ scope: 'global', unit: 'spend_cents', limit: 100 }] } as const;
  let sent = 0;
  const { post, runtime } = await openGateway(context, {
    gear: { policy },
    async answer(_, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(streamHead(100));
      for (let at = 0; at < 300 && !response.destroyed; at++) {
        response.write(streamText('word '.repeat(80)));
        sent++;
        await sleep(1);
      }
      response.end(streamTail(30_000));
    },
  });
  const body = { ...ask, max_tokens: 64_000, stream: true };
  const calls = Array.from({ length: 50 }, (_, at) =>
    post(`/task/p${at}/v1/messages`, body).then((each) => each.text()),
  );
  const texts = await Promise.all(calls);
  const states = [...runtime.tasks.values(), ...runtime.halted.values()].map(({ cells }) => cells.budget.state);
  const spent = [...new Set(states)].reduce((sum, { micros }) => sum + micros, 0);
  assert.ok(spent > 800_000 && spent <= 1_000_000 + 50 * 1_600, `${spent}`);
  assert.ok(states.every(({ reservedMicros }) => reservedMicros === 0));
  assert.ok(texts.every((text) => /message_stop|token_spend_limit/.test(text)));
  assert.ok(sent < 50 * 300, `${sent} chunks were sent`);
});
