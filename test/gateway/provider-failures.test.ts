/** Failing providers: retries before the first byte, circuits, and the fallback. */

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { describeEntry } from '../../src/operator/format-entry.ts';
import { readStatus } from '../../src/operator/status.ts';
import { bothStores, testOn, until } from '../stores/both-stores.ts';
import { ask, messageOf, openGateway, sendJson, sonnet, streamHead, streamTail, streamText } from './harness.ts';

const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
const failure = { type: 'error', error: { type: 'api_error', message: 'Internal server error' } };

const { kinds, newPlace } = bothStores();

test('a busy provider is tried again before the first byte, as one metered call', async (context) => {
  let attempts = 0;
  const { post, task, received } = await openGateway(context, {
    answer: (_, response) =>
      ++attempts < 3 ? sendJson(response, overloaded, 529) : sendJson(response, messageOf('hi', 1_000, 100)),
  });
  assert.equal((await post('/task/a/v1/messages', ask)).status, 200);
  assert.equal(received.length, 3);
  const { modelCalls, micros } = task().cells.budget.state;
  assert.deepEqual({ modelCalls, micros }, { modelCalls: 1, micros: 4_500 });
});

test('a circuit opens after failures and answers at once, and other models go on', async (context) => {
  const { post, received } = await openGateway(context, {
    answer: ({ body }, response) =>
      body.includes(sonnet) ? sendJson(response, failure, 500) : sendJson(response, messageOf('hi', 1, 1)),
  });
  for (let at = 0; at < 5; at++) {
    const answer = await post(`/task/a${at}/v1/messages`, ask);
    assert.equal(answer.status, 500);
    assert.deepEqual(await answer.json(), failure);
  }
  const refused = await post('/task/b/v1/messages', ask);
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get('x-switchgear-code'), 'circuit_open');
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.equal(received.length, 5);
  assert.equal((await post('/task/b/v1/messages', { ...ask, model: 'claude-haiku-4-5' })).status, 200);
});

test('errors of the request do not open a circuit; errors inside a stream do', async (context) => {
  let isStreaming = false;
  const error = `event: error\ndata: ${JSON.stringify(overloaded)}\n\n`;
  const { post, received } = await openGateway(context, {
    answer(_, response) {
      if (!isStreaming) return sendJson(response, { type: 'error', error: { type: 'not_found_error' } }, 404);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.end(streamHead(10) + error);
    },
  });
  for (let at = 0; at < 8; at++) assert.equal((await post(`/task/a${at}/v1/messages`, ask)).status, 404);
  isStreaming = true;
  for (let at = 0; at < 5; at++) {
    const answer = await post(`/task/b${at}/v1/messages`, { ...ask, stream: true });
    assert.ok((await answer.text()).endsWith(error));
  }
  assert.equal((await post('/task/c/v1/messages', ask)).status, 503);
  assert.equal(received.length, 13);
});

for (const [title, status, text] of [
  ['an answer', 500, JSON.stringify(failure)],
  ['an event of a stream', 529, `${streamHead(10)}event: error\ndata: ${JSON.stringify(overloaded)}\n\n`],
] as const) {
  test(`the journal keeps the status of a failed model call, not its words: ${title}`, async (context) => {
    const store = await kinds['in a file'](newPlace());
    context.after(() => store.close());
    const { post } = await openGateway(context, {
      gear: { store },
      answer(_, response) {
        const isStream = status !== 500;
        response.writeHead(isStream ? 200 : status, {
          'content-type': isStream ? 'text/event-stream' : 'application/json',
        });
        response.end(text);
      },
    });
    await (await post('/task/a/v1/messages', { ...ask, stream: true })).text();
    const [stored] = (await readStatus(store, 'test')).breakers;
    assert.equal(stored?.lastError, `status ${status}`);
    const counted = (await store.shared.entries(0, 100)).find(({ type }) => type === 'failure-counted');
    assert.match(describeEntry(counted!) ?? '', new RegExp(`failed \\(1 of 5\\): status ${status}$`));
  });
}

test('while the circuit is open, the fallback of the same API takes the calls', async (context) => {
  const other = await openGateway(context, { answer: (_, response) => sendJson(response, messageOf('other', 10, 10)) });
  const { post, received } = await openGateway(context, {
    fallback: new URL(other.direct),
    answer: (_, response) => sendJson(response, failure, 500),
  });
  for (let at = 0; at < 5; at++) assert.equal((await post('/task/a/v1/messages', ask)).status, 500);
  const answer = await post('/task/a/v1/messages', ask, { 'x-api-key': 'sk-1' });
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /other/);
  assert.equal(received.length, 5);
  assert.equal(other.received[0]!.headers['x-api-key'], 'sk-1');
});

test('a rate limit with a short time is waited for, and one with a long time is passed at once', async (context) => {
  const limits = [{ 'retry-after': '0' }, { 'retry-after-ms': '10' }, { 'retry-after': '30' }, {}];
  const asked: object[] = [];
  const { post, received, task } = await openGateway(context, {
    answer(_, response) {
      const headers = asked.shift();
      if (headers === undefined) return sendJson(response, messageOf('hi', 1_000, 100));
      response.writeHead(429, { 'content-type': 'application/json', ...headers });
      return response.end(JSON.stringify(overloaded));
    },
  });
  asked.push(limits[0]!, limits[1]!);
  assert.equal((await post('/task/a/v1/messages', ask)).status, 200);
  assert.equal(received.length, 3);
  for (const headers of limits.slice(2)) {
    asked.push(headers);
    const answer = await post('/task/a/v1/messages', ask);
    assert.equal(answer.status, 429);
    assert.equal(answer.headers.get('retry-after'), Reflect.get(headers, 'retry-after') ?? null);
  }
  assert.equal(received.length, 5);
  assert.equal(task().cells.budget.state.modelCalls, 3);
  assert.equal(task().cells.budget.state.micros, 4_500);
});

test('an upstream that is silent before its answer is a failure, which is not tried again', async (context) => {
  const { post, received, task } = await openGateway(context, { silenceMs: 30, answer: () => {} });
  for (let at = 0; at < 5; at++) {
    const answer = await post('/task/a/v1/messages', ask);
    assert.equal(answer.status, 502);
    assert.match(await answer.text(), /ETIMEDOUT/);
  }
  assert.equal((await post('/task/a/v1/messages', ask)).status, 503);
  assert.equal(received.length, 5);
  const { micros, reservedMicros } = task().cells.budget.state;
  assert.deepEqual({ micros, reservedMicros }, { micros: 0, reservedMicros: 0 });
});

test('an upstream that keeps idle connections briefly may take longer to answer', async (context) => {
  const ports = new Set<number | undefined>();
  const { post } = await openGateway(context, {
    answer(_, response) {
      const isFirst = ports.size === 0;
      ports.add(response.socket?.remotePort);
      response.setHeader('keep-alive', 'timeout=2');
      setTimeout(() => sendJson(response, messageOf('hi', 10, 10)), isFirst ? 0 : 1_300);
    },
  });
  for (let at = 0; at < 2; at++) assert.equal((await post('/task/a/v1/messages', ask)).status, 200);
  assert.equal(ports.size, 1, 'the second call used the connection of the first one');
});

test('an upstream that falls silent or breaks off within a stream is a failure of that model', async (context) => {
  let isSilent = true;
  const { post, received } = await openGateway(context, {
    silenceMs: 400, // A busy machine is slow, not silent.
    answer({ body }, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (!body.includes(sonnet)) return response.end(streamHead(10) + streamTail(5));
      response.write(streamHead(10) + streamText('so far'));
      return isSilent ? undefined : setTimeout(() => response.destroy(), 5);
    },
  });
  for (let at = 0; at < 5; at++) {
    isSilent = at % 2 === 0;
    const answer = await post('/task/a/v1/messages', { ...ask, stream: true });
    assert.equal(answer.status, 200);
    await assert.rejects(answer.text());
  }
  // Nothing is repeated after the first byte.
  assert.equal(received.length, 5);
  assert.equal((await post('/task/a/v1/messages', { ...ask, stream: true })).status, 503);
  assert.equal((await post('/task/a/v1/messages', { ...ask, model: 'claude-haiku-4-5', stream: true })).status, 200);
});

test('an upstream that accepts no connection is tried three times, as one failure', async (context) => {
  let connections = 0;
  const closing = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve));
  context.after(() => closing.close());
  const upstream = new URL(`http://127.0.0.1:${(closing.address() as { port: number }).port}`);
  const { post, task } = await openGateway(context, { upstream });
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => post('/task/a/v1/messages', ask)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [502, 502, 502, 502, 502],
  );
  assert.equal(connections, 15);
  assert.equal((await post('/task/a/v1/messages', ask)).status, 503);
  assert.equal(task().cells.budget.state.modelCalls, 5);
});

/** A circuit that is tried again almost at once. */
const soon = { circuit_breaker: { recovery_timeout_secs: 0.05 } };
/** A circuit that stays open. */
const late = { circuit_breaker: { recovery_timeout_secs: 60 } };

test('a circuit is tried by one real call at a time, and the others go on without it', async (context) => {
  const other = await openGateway(context, { answer: (_, response) => sendJson(response, messageOf('other', 10, 10)) });
  for (const fallback of [undefined, new URL(other.direct)]) {
    let isDown = true;
    const released = Promise.withResolvers<void>();
    const { post, received } = await openGateway(context, {
      policy: soon,
      ...(fallback && { fallback }),
      answer: async (_, response) => {
        if (isDown) return sendJson(response, failure, 500);
        await released.promise;
        return sendJson(response, messageOf('back', 10, 10));
      },
    });
    for (let at = 0; at < 5; at++) await post('/task/a/v1/messages', ask);
    isDown = false;
    await new Promise((resolve) => setTimeout(resolve, 80));
    let answered = 0;
    const calls = Array.from({ length: 10 }, async () => {
      const answer = await post('/task/a/v1/messages', ask);
      answered++;
      return answer;
    });
    await until(() => answered === 9);
    released.resolve();
    const answers = await Promise.all(calls);
    assert.equal(received.length, 6);
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(
      statuses,
      Array.from({ length: 10 }, (_, at) => (at === 0 || fallback ? 200 : 503)),
    );
    const texts = await Promise.all(answers.map((each) => each.text()));
    assert.equal(texts.filter((text) => text.includes('back')).length, 1);
    assert.match(await (await post('/task/a/v1/messages', ask)).text(), /back/);
  }
});

test('a model has a circuit at each upstream', async (context) => {
  const { post, received } = await openGateway(context, {
    listed: (mock) => [
      { name: 'one', url: `${mock}/one`, apis: ['anthropic'] },
      { name: 'two', url: mock.replace('127.0.0.1', 'localhost'), apis: ['openai'] },
    ],
    answer: ({ url }, response) =>
      url.startsWith('/one') ? sendJson(response, failure, 500) : sendJson(response, { choices: [] }),
  });
  for (let at = 0; at < 5; at++) await post('/task/a/v1/messages', ask);
  assert.equal((await post('/task/a/v1/messages', ask)).status, 503);
  assert.equal((await post('/task/a/v1/chat/completions', ask)).status, 200);
  assert.equal(received.length, 6);
});

test('paths that cannot be metered have a circuit at each upstream', async (context) => {
  const { post } = await openGateway(context, {
    listed: (mock) => [
      { name: 'one', url: `${mock}/one`, apis: ['anthropic'] },
      { name: 'two', url: mock.replace('127.0.0.1', 'localhost'), apis: ['openai'] },
    ],
    answer: ({ url }, response) => sendJson(response, failure, url.startsWith('/one') ? 500 : 200),
  });
  for (let at = 0; at < 5; at++) await post(`/task/a${at}/v1/messages/batches`, {});
  // Clients that come again while it is open do not use up the limits of their task.
  for (let at = 0; at < 12; at++) assert.equal((await post('/task/a/v1/messages/batches', {})).status, 503);
  assert.equal((await post('/task/b/v1/images/generations', {})).status, 200);
});

for (const [name, open] of Object.entries(kinds)) {
  testOn(name)(`gateways on one store share the circuit of a model, and its only probe: ${name}`, async (context) => {
    const place = newPlace();
    const stores = [await open(place), await open(place)];
    context.after(() => stores.map((store) => store.close()));
    let isDown = true;
    const provider = await openGateway(context, {
      answer: (_, response) =>
        isDown ? sendJson(response, failure, 500) : setTimeout(sendJson, 100, response, messageOf('back', 1, 1)),
    });
    const upstream = new URL(provider.direct);
    const policy = { circuit_breaker: { recovery_timeout_secs: 0.2 } };
    const gateways = await Promise.all(
      stores.map((store) => openGateway(context, { upstream, gear: { store, policy } })),
    );
    for (let at = 0; at < 5; at++) assert.equal((await gateways[0]!.post(`/task/a${at}/v1/messages`, ask)).status, 500);
    await stores[0]!.shared.settled();
    assert.equal((await gateways[1]!.post('/task/b/v1/messages', ask)).status, 503);
    assert.equal(provider.received.length, 5);
    isDown = false;
    await new Promise((resolve) => setTimeout(resolve, 250));
    const calls = Array.from({ length: 8 }, (_, at) => gateways[at % 2]!.post(`/task/c${at}/v1/messages`, ask));
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, provider.received.length - 5);
    assert.ok(provider.received.length - 5 >= 1 && provider.received.length - 5 <= 2, `${statuses}`);
  });
}

test('clients that come again while a circuit is open do not use up the limits of their task', async (context) => {
  const { post, task } = await openGateway(context, {
    policy: late,
    limits: { maxModelCalls: 8 },
    answer: (_, response) => sendJson(response, failure, 500),
  });
  for (let at = 0; at < 5; at++) await post('/task/a/v1/messages', ask);
  for (let at = 0; at < 20; at++) assert.equal((await post('/task/a/v1/messages', ask)).status, 503);
  assert.equal(task().halt, undefined);
  assert.equal(task().cells.budget.state.modelCalls, 5);
});
