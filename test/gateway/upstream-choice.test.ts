import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask, messageOf, openGateway, sendJson } from './harness.ts';

const answer = (_: unknown, response: Parameters<typeof sendJson>[0]) => sendJson(response, messageOf('hi', 5, 5));

test('the key of the upstream replaces every key of the client', async (context) => {
  const { url, received } = await openGateway(context, {
    answer,
    env: { PROVIDER_KEY: 'sk-provider', TEAM: 'blue' },
    listed: (mock) => [
      { name: 'own', url: `${mock}/base`, key_env: 'PROVIDER_KEY', headers: { 'X-Team': '${TEAM}-1' } },
    ],
  });
  const post = (path: string, headers: Record<string, string>) =>
    fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(ask), headers });
  const sent = { 'content-type': 'application/json', 'x-team': 'red', cookie: 'a=client-4' };
  await post('/v1/messages', { ...sent, 'x-api-key': 'client-1', authorization: 'Bearer client-2' });
  await post('/v1/chat/completions', { ...sent, authorization: 'Bearer client-2', 'x-goog-api-key': 'client-3' });
  await post('/v1beta/models/gemini-2.5-pro:generateContent?key=client-5&alt=json&%6bey=client-6', sent);
  assert.deepEqual(
    received.map(({ url: path }) => path),
    ['/base/v1/messages', '/base/v1/chat/completions', '/base/v1beta/models/gemini-2.5-pro:generateContent?alt=json'],
  );
  const [anthropic, openai, gemini] = received.map(({ headers }) => headers);
  assert.equal(anthropic?.['x-api-key'], 'sk-provider');
  assert.equal(openai?.authorization, 'Bearer sk-provider');
  assert.equal(gemini?.['x-goog-api-key'], 'sk-provider');
  for (const each of received) {
    assert.equal(each.headers['x-team'], 'blue-1');
    assert.doesNotMatch(JSON.stringify(each), /client-\d/);
  }
});

test('without a key of the upstream the key of the client passes', async (context) => {
  const { post, received } = await openGateway(context, { answer, listed: (mock) => [{ name: 'own', url: mock }] });
  await post('/v1/messages', ask, { 'x-api-key': 'client-1' });
  assert.equal(received[0]?.headers['x-api-key'], 'client-1');
});

test('a model goes to the first upstream that serves it, and nowhere else', async (context) => {
  const { post, received } = await openGateway(context, {
    answer,
    listed: (mock) => [
      { name: 'small', url: `${mock}/small`, apis: ['anthropic'], models: ['*-haiku-*'] },
      { name: 'large', url: `${mock}/large`, apis: ['anthropic'], models: ['claude-*'] },
    ],
  });
  assert.equal((await post('/v1/messages', ask)).status, 200);
  assert.equal((await post('/v1/messages', { ...ask, model: 'claude-3-haiku-2' })).status, 200);
  assert.deepEqual(
    received.map(({ url }) => url),
    ['/large/v1/messages', '/small/v1/messages'],
  );
  const other = await post('/v1/messages', { ...ask, model: 'gpt-5' });
  assert.equal(other.status, 404);
  assert.match(await other.text(), /no upstream for the model .*gpt-5/);
  const otherApi = await post('/v1/chat/completions', { model: 'claude-x', messages: [] });
  assert.equal(otherApi.status, 404);
  assert.equal(otherApi.headers.get('x-should-retry'), 'false');
  assert.equal(received.length, 2);
});

test('an upstream whose key is missing is not called, and the answer names the variable', async (context) => {
  const { post, received } = await openGateway(context, {
    listed: (mock) => [{ name: 'own', url: mock, key_env: 'NO_SUCH_KEY' }],
  });
  const response = await post('/v1/messages', ask, { 'x-api-key': 'client-1' });
  assert.equal(response.status, 502);
  assert.match(await response.text(), /the upstream own cannot be used: the variable NO_SUCH_KEY is not set/);
  assert.equal(received.length, 0);
});

test('a key comes from a file, and upstreams follow a policy that changes', async (context) => {
  const file = join(mkdtempSync(join(tmpdir(), 'switchgear-')), 'key');
  writeFileSync(file, 'sk-file\n');
  let mock = '';
  const { post, received, gear } = await openGateway(context, {
    answer,
    listed(url) {
      mock = url;
      return [{ name: 'own', url, key_file: file }];
    },
  });
  await post('/v1/messages', ask);
  gear.reload({ upstreams: [{ name: 'next', url: `${mock}/next` }] });
  await post('/v1/messages', ask, { 'x-api-key': 'client-1' });
  assert.equal(received[0]?.headers['x-api-key'], 'sk-file');
  assert.deepEqual([received[1]?.url, received[1]?.headers['x-api-key']], ['/next/v1/messages', 'client-1']);
});

test('while the circuit of a model is open its calls go to the fallback with its own key', async (context) => {
  const { post, received } = await openGateway(context, {
    answer: (request, response) =>
      request.url.startsWith('/first')
        ? sendJson(response, { type: 'error', error: { type: 'api_error', message: 'down' } }, 500)
        : sendJson(response, messageOf('hi', 5, 5)),
    env: { FIRST: 'sk-first', SECOND: 'sk-second' },
    policy: { circuit_breaker: { failure_threshold: 2 } },
    listed: (mock) => [
      { name: 'first', url: `${mock}/first`, key_env: 'FIRST', fallback: 'second' },
      { name: 'second', url: `${mock}/second`, key_env: 'SECOND', models: ['none'] },
    ],
  });
  for (let call = 0; call < 3; call++) await (await post('/v1/messages', ask)).text();
  const last = received.at(-1);
  assert.deepEqual([last?.url, last?.headers['x-api-key']], ['/second/v1/messages', 'sk-second']);
});

test('an upstream may be written with the version with which paths begin', async (context) => {
  const { url, received } = await openGateway(context, {
    listed: (mock) => [
      { name: 'o', url: `${mock}/api/v1`, apis: ['openai'] },
      { name: 'a', url: `${mock}/v1/`, apis: ['anthropic'] },
      { name: 'g', url: `${mock}/v1beta`, apis: ['gemini'] },
    ],
  });
  const gemini = '/v1beta/models/gemini-2.5-pro:generateContent';
  for (const path of ['/v1/chat/completions', '/v1/messages', gemini])
    await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(ask) });
  await fetch(`${url}/v1/models`, { headers: { authorization: 'Bearer x' } });
  assert.deepEqual(
    received.map((each) => each.url),
    ['/api/v1/chat/completions', '/v1/messages', gemini, '/api/v1/models'],
  );
});
