/** The key of a client and that of the provider: each reaches only whom it is for. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { listGatewayKeys } from '../../../src/gateway/keys/key-records.ts';
import { ask, messageOf, sendJson, sonnet } from '../harness.ts';
import { openKeyed } from './keyed-gateway.ts';

test('a fallback without a key gets no key of the gateway, and one that lacks its key is not used', async (context) => {
  const { post, received, key } = await openKeyed(
    context,
    {},
    {
      answer: (request, response) =>
        request.url.startsWith('/next')
          ? sendJson(response, messageOf('hi', 5, 5))
          : sendJson(response, { type: 'error', error: { type: 'api_error', message: 'down' } }, 500),
      env: { FIRST: 'sk-first' },
      policy: { circuit_breaker: { failure_threshold: 2 } },
      listed: (mock) => [
        { name: 'first', url: `${mock}/first`, key_env: 'FIRST', models: ['claude-*'], fallback: 'next' },
        { name: 'other', url: `${mock}/other`, key_env: 'FIRST', fallback: 'broken' },
        { name: 'next', url: `${mock}/next`, models: ['none'] },
        { name: 'broken', url: `${mock}/broken`, key_env: 'MISSING', models: ['none'] },
      ],
    },
  );
  const send = async (model: string) => (await post('/v1/messages', { ...ask, model }, { 'x-api-key': key })).status;
  assert.deepEqual([await send(sonnet), await send(sonnet), await send(sonnet)], [500, 500, 200]);
  const last = received.at(-1);
  assert.deepEqual([last?.url, last?.headers['x-api-key']], ['/next/v1/messages', undefined]);
  assert.ok(!JSON.stringify(received).includes(key), 'no upstream sees the key of the client');
  assert.deepEqual([await send('other-1'), await send('other-1'), await send('other-1')], [500, 500, 503]);
  assert.ok(received.every(({ url }) => !url.startsWith('/broken')));
});

test('with a key of the gateway an upstream without a key is a 502, unless it has headers', async (context) => {
  const url = 'https://model.invalid';
  const { post, key } = await openKeyed(
    context,
    {},
    {
      listed: (mock) => [
        { name: 'bare', url, models: ['bare'], fallback: 'local' },
        { name: 'marked', url, models: ['marked'], headers: { authorization: 'none' } },
        { name: 'local', url: mock, fallback: 'bare' },
      ],
    },
  );
  const send = async (model: string) => {
    const response = await post('/v1/messages', { ...ask, model }, { 'x-api-key': key });
    return [response.status, response.headers.get('x-switchgear-code'), await response.text()] as const;
  };
  const [status, code, text] = await send('bare');
  assert.deepEqual([status, code], [502, 'upstream_not_configured']);
  assert.match(text, /the upstream bare cannot be used: it has no key of its own/);
  assert.match((await send('marked'))[2], /model\.invalid cannot be reached/);
  assert.equal((await send(sonnet))[0], 200);
});

test('the key of a provider goes to its own upstream alone, and follows no redirect', async (context) => {
  const elsewhere: string[] = [];
  const other = createServer((request, response) => {
    elsewhere.push(JSON.stringify(request.headers));
    response.end('{}');
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  context.after(() => other.close());
  const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/stolen`;
  const { url, received, key } = await openKeyed(
    context,
    {},
    {
      answer: (request, response) =>
        request.url.startsWith('/a') ? response.writeHead(307, { location }).end() : sendJson(response, {}),
      env: { KEY_A: 'sk-provider-a', KEY_B: 'sk-provider-b' },
      listed: (mock) => [
        { name: 'a', url: `${mock}/a`, key_env: 'KEY_A', apis: ['anthropic'] },
        { name: 'b', url: `${mock}/b`, key_env: 'KEY_B', apis: ['openai'] },
        { name: 'c', url: `${mock}/c`, apis: ['gemini'] },
      ],
    },
  );
  const send = async (path: string, method = 'POST') => {
    const body = method === 'POST' ? { body: JSON.stringify(ask) } : {};
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${url}${path}`, { method, headers, redirect: 'manual', ...body });
    return answer.status;
  };
  assert.equal(await send('/v1/messages'), 307);
  assert.equal(await send('/v1/messages/count_tokens'), 307);
  assert.equal(await send('/v1/chat/completions'), 200);
  assert.equal(await send('/v1/models', 'GET'), 200);
  assert.equal(await send('/v1beta/models/gemini-2.5-pro:generateContent'), 200);
  assert.deepEqual(elsewhere, []);
  for (const each of received) {
    const sent = JSON.stringify(each.headers);
    assert.equal(sent.includes('sk-provider-a'), each.url.startsWith('/a/'), each.url);
    assert.equal(sent.includes('sk-provider-b'), each.url.startsWith('/b/'), each.url);
    assert.ok(!sent.includes(key));
  }
});

test('the hash of a key is no key', async (context) => {
  const { post, store, key, received } = await openKeyed(context);
  const [record] = await listGatewayKeys(store);
  const wrong = [record!.hash, `sk-switchgear-ann.${record!.hash}`, `sk-switchgear-ann`, `sk-switchgear-ann.`];
  const named = [`sk-switchgear-Ann.${key.split('.')[1]}`, `sk-switchgear-a%6en.${key.split('.')[1]}`];
  for (const text of [...wrong, ...named])
    assert.equal((await post('/v1/messages', ask, { 'x-api-key': text })).status, 401, text);
  assert.equal(received.length, 0);
});

test('a key in the query is in no journal, card, task or answer, whatever fails', async (context) => {
  const { url, key, runtime, received } = await openKeyed(
    context,
    {},
    {
      answer: (_, response) => sendJson(response, { error: { code: 500, message: 'down', status: 'INTERNAL' } }, 500),
      policy: { circuit_breaker: { failure_threshold: 2 } },
    },
  );
  const secret = key.split('.')[1]!;
  const texts: string[] = [];
  const send = async (path: string, parameter = `key=${key}`, method = 'POST') => {
    const body = method === 'POST' ? { body: '{"contents":[]}' } : {};
    const answer = await fetch(`${url}${path}?alt=sse&${parameter}`, { method, ...body });
    texts.push(`${await answer.text()} ${JSON.stringify([...answer.headers])}`);
    return answer.status;
  };
  const model = '/v1beta/models/gemini-2.5-pro:streamGenerateContent';
  assert.deepEqual([await send(model), await send(model), await send(model)], [500, 500, 503]);
  assert.equal(await send(model, `k%65y=${key}`), 503, 'the name of the parameter may be encoded');
  assert.equal(await send(model, `key=${key}x`), 401);
  assert.equal(await send('/v1beta/files', `key=${key}`, 'GET'), 500);
  assert.equal(await send('/v1beta/../x', `key=${key}`), 500);
  await runtime.store.shared?.settled();
  const kept = JSON.stringify([runtime.store.tail(0), runtime.store.cards(), [...runtime.tasks.keys()]]);
  assert.ok(kept.includes('breaker') && received.length > 0);
  for (const text of [kept, JSON.stringify(received), ...texts]) assert.ok(!text.includes(secret), text.slice(0, 200));
});
