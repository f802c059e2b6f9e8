/** Keys of the gateway: what they are exchanged for, what they may do, and what two gateways on one store agree on. */

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { test } from 'node:test';
import { addKey, removeKey } from '../../../src/gateway/keys/key-records.ts';
import { ask, messageOf, openGateway, sendJson, sendRaw, sonnet } from '../harness.ts';
import { openKeyed } from './keyed-gateway.ts';

test('a key is taken where each API carries it, and exchanged for that of the provider', async (context) => {
  const { url, key, received, runtime } = await openKeyed(context);
  const send = async (path: string, headers: Record<string, string>, body: object = ask) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    await response.arrayBuffer();
    return response.status;
  };
  const gemini = '/v1beta/models/gemini-2.5-pro:generateContent';
  assert.equal(await send('/v1/messages', { 'x-api-key': key }), 200);
  assert.equal(await send('/v1/messages', { authorization: `Bearer ${key}`, 'x-api-key': key }), 200);
  assert.equal(await send('/v1/chat/completions', { authorization: `bearer ${key}` }), 200);
  assert.equal(await send(gemini, { 'x-goog-api-key': key }, {}), 200);
  assert.equal(await send(`${gemini}?alt=json&key=${key}`, {}, {}), 200);
  assert.equal((await fetch(`${url}/v1/models`, { headers: { 'x-api-key': key } })).status, 200);
  assert.equal(received.length, 6);
  assert.equal(received[0]?.headers['x-api-key'], 'sk-provider');
  assert.equal(received[4]?.url, `${gemini}?alt=json`);
  const secret = key.split('.')[1]!;
  assert.ok(!JSON.stringify(received).includes(secret), 'no provider sees the key');
  const tasks = [...runtime.tasks.keys()];
  assert.ok(tasks.length > 0 && tasks.every((id) => id.startsWith('gw-ann.')), tasks.join());
  const journal = JSON.stringify([runtime.store.tail(0), runtime.store.cards(), tasks]);
  assert.ok(!journal.includes(secret) && !journal.includes('sk-provider'));
  assert.match(journal, /"key":"ann"/);
});

test('a request without a valid key is refused in the shape of its API, and reaches no provider', async (context) => {
  const { post, url, key, received, port } = await openKeyed(context);
  const refused = async (headers: Record<string, string>, code: string) => {
    const response = await post('/v1/messages', ask, headers);
    assert.deepEqual([response.status, response.headers.get('x-switchgear-code')], [401, code]);
    assert.equal(response.headers.get('x-should-retry'), 'false');
    const body = (await response.json()) as { type: string; error: { message: string } };
    assert.equal(body.type, 'error');
    assert.ok(!JSON.stringify(body).includes(key.slice(-20)), 'the answer quotes no key');
  };
  await refused({}, 'key_missing');
  await refused({ 'x-api-key': 'sk-ant-other' }, 'key_missing');
  await refused({ 'x-api-key': `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}` }, 'key_unknown');
  await refused({ 'x-api-key': `${key}x` }, 'key_unknown');
  await refused({ 'x-api-key': 'sk-switchgear-__proto__.x' }, 'key_unknown');
  await refused({ 'x-api-key': 'sk-switchgear-bob.' }, 'key_unknown');
  await refused({ 'x-api-key': 'sk-switchgear-' }, 'key_unknown');
  await refused({ authorization: `Basic ${key}` }, 'key_unknown');
  await refused({ 'x-api-key': key, authorization: 'Bearer sk-ant-other' }, 'several_keys');
  const twice = { 'x-api-key': [key, 'sk-ant-other'] };
  assert.equal((await sendRaw(port, { path: '/v1/models', headers: twice })).status, 401);
  const path = `/v1/models?key=${key}&key=other`;
  assert.equal((await sendRaw(port, { path })).status, 401);
  for (const other of ['/v1/models', '/v1/files', '/v1/batches'])
    assert.equal((await fetch(`${url}${other}`)).status, 401, other);
  assert.equal((await fetch(`${url}/health`)).status, 200);
  assert.equal(received.length, 0);
});

test('without keys in the store none is needed, but a key that was removed is never passed on', async (context) => {
  const { post, key, store, received } = await openKeyed(context);
  await removeKey(store, 'ann');
  assert.equal((await post('/v1/messages', ask, { 'x-api-key': key })).status, 401);
  assert.equal((await post('/v1/messages', ask, { 'x-api-key': 'own' })).status, 200);
  assert.equal(received.length, 1);
});

test('a gateway that needs keys refuses everything while there is none', async (context) => {
  const { url, received } = await openGateway(context, { needsKey: true });
  assert.equal((await fetch(`${url}/v1/models`)).status, 401);
  assert.equal(received.length, 0);
});

test('a key that is removed ends with the next request of a connection that is kept open', async (context) => {
  const { port, key, store } = await openKeyed(context);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  context.after(() => agent.destroy());
  const send = () =>
    new Promise<{ readonly status: number | undefined; readonly isReused: boolean }>((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path: '/v1/models', agent, headers: { 'x-api-key': key } };
      const sent = request(options, (response) => {
        response.resume();
        response.on('end', () => resolve({ status: response.statusCode, isReused: sent.reusedSocket }));
      });
      sent.on('error', reject);
      sent.end();
    });
  assert.equal((await send()).status, 200);
  await removeKey(store, 'ann');
  assert.deepEqual(await send(), { status: 401, isReused: true });
});

test('a key with models calls no other ones, on no path', async (context) => {
  const { post, key, received } = await openKeyed(context, { models: ['claude-*', 'gpt-5'] });
  const headers = { 'x-api-key': key };
  assert.equal((await post('/v1/messages', ask, headers)).status, 200);
  const other = await post('/v1/messages', { ...ask, model: 'o3' }, headers);
  assert.deepEqual([other.status, other.headers.get('x-should-retry')], [403, 'false']);
  assert.match(await other.text(), /"type":"error".*the key ann may not call the model/);
  const gemini = await post('/v1beta/models/gemini-2.5-pro:generateContent', { model: 'gpt-5' }, headers);
  assert.equal(gemini.status, 403);
  assert.equal((await post('/v1/images/generations', { model: 'gpt-5' }, headers)).status, 403);
  assert.equal((await post('/v1/messages', { messages: [] }, headers)).status, 403, 'a call without a model');
  assert.equal(received.length, 1);
});

test('requests a minute are counted over two gateways, and more get 429 with a time', async (context) => {
  const { post, key, open, received } = await openKeyed(context, { requestsPerMinute: 6 });
  const other = await open();
  const headers = { 'x-api-key': key };
  const all = await Promise.all(
    Array.from({ length: 16 }, (_, at) => (at % 2 === 0 ? post : other.post)('/v1/messages', ask, headers)),
  );
  const statuses = all.map(({ status }) => status);
  assert.deepEqual(
    [statuses.filter((status) => status === 200).length, statuses.filter((status) => status === 429).length],
    [6, 10],
  );
  assert.equal(received.length + other.received.length, 6);
  const late = all.find(({ status }) => status === 429)!;
  assert.ok(Number(late.headers.get('retry-after')) > 10, 'a turn after the longest wait');
  assert.equal(late.headers.get('x-should-retry'), null);
  const { error } = (await late.json()) as { error: { type: string; message: string } };
  assert.equal(error.type, 'rate_limit_error');
  assert.match(error.message, /^Switchgear: the key \S+ is limited to 6 requests a minute: try again in \d+ s$/);
});

test('tokens a minute are corrected by what a request used', async (context) => {
  const { post, key } = await openKeyed(context, { tokensPerMinute: 3_000 });
  const send = async () => (await post('/v1/messages', ask, { 'x-api-key': key })).status;
  // Each asks for about 1,000 tokens and uses 1,100.
  const statuses = [await send(), await send(), await send(), await send()];
  assert.deepEqual(statuses, [200, 200, 429, 429]);
});

test('the budget of a key holds over two gateways and many tasks, and halts none', async (context) => {
  // A call costs 1,000 x $3 and 100 x $15 a million: 0.45 cents. It reserves up to 1.8 cents before.
  const { post, key, open, runtime, received } = await openKeyed(context, {
    budget: { cents: 10, windowSecs: 86_400 },
  });
  const other = await open();
  const statuses: number[] = [];
  let last = '';
  for (let round = 0; round < 10; round++) {
    const calls = Array.from({ length: 4 }, (_, at) =>
      (at % 2 === 0 ? post : other.post)(`/task/t${round}-${at}/v1/messages`, ask, { 'x-api-key': key }),
    );
    for (const response of await Promise.all(calls)) {
      statuses.push(response.status);
      if (response.status !== 200) last = await response.text();
    }
  }
  const passed = statuses.filter((status) => status === 200).length;
  assert.equal(passed, received.length + other.received.length);
  assert.ok(passed * 0.45 <= 10, `${passed} calls cost at most 10 cents`);
  assert.ok(passed >= 16, `${passed} calls fit`);
  assert.match(last, /spend of the key ann in any 24 h: \$0\.1\d of \$0\.10/);
  assert.ok([...runtime.tasks.values()].every(({ halt }) => halt === undefined));
});

test('refusals by the budget of a key are no denials of the task, which goes on later', async (context) => {
  const { post, key, store, runtime } = await openKeyed(context, { budget: { cents: 3, windowSecs: 60 } });
  const send = async () => {
    const response = await post('/task/a/v1/messages', ask, { 'x-api-key': key });
    return response.headers.get('x-switchgear-code') ?? response.status;
  };
  const answers: unknown[] = [];
  for (let at = 0; at < 12; at++) answers.push(await send());
  assert.deepEqual(new Set(answers), new Set([200, 'token_spend_limit']));
  assert.ok(answers.filter((each) => each === 'token_spend_limit').length >= 6, answers.join());
  assert.deepEqual(
    [...runtime.tasks.values()].map(({ halt }) => halt),
    [undefined],
  );
  await runtime.store.shared?.settled();
  assert.deepEqual(
    store.cards().filter(({ kind }) => kind === 'halt'),
    [],
  );
});

test('keys have tasks and sessions of their own, whatever ids they claim', async (context) => {
  const { post, key, store, runtime } = await openKeyed(context);
  const second = await addKey(store, 'bob', {}, 'tester');
  const claimed = { 'x-switchgear-task': 'shared', 'x-switchgear-session': 'one' };
  for (const each of [key, second]) await post('/v1/messages', ask, { 'x-api-key': each, ...claimed });
  const tasks = [...runtime.tasks.values()];
  assert.deepEqual(tasks.map(({ id }) => id.replace(/\.\w{4}:/, ':')).toSorted(), ['gw-ann:shared', 'gw-bob:shared']);
  assert.equal(new Set(tasks.map(({ session }) => session)).size, 2);
});

test('more than 100 new tasks of one client in an hour are one card', async (context) => {
  const { post, key, runtime } = await openKeyed(context);
  const { post: open, runtime: memory } = await openGateway(context, {
    answer: (_, response) => sendJson(response, messageOf('hi', 1, 1)),
  });
  const cards = (store: typeof runtime.store) => store.cards().filter(({ id }) => id.startsWith('card-gateway-tasks'));
  const side = { model: sonnet, max_tokens: 1, messages: [] };
  for (let at = 0; at < 102; at++) {
    if (at === 100) assert.deepEqual([cards(runtime.store).length, cards(memory.store).length], [0, 0]);
    await Promise.all([
      post(`/task/n${at}/v1/messages`, side, { 'x-api-key': key }),
      open(`/task/n${at}/v1/messages`, side, { 'x-api-key': 'client-secret' }),
    ]);
  }
  await runtime.store.shared?.settled();
  const [[shared], [local]] = [cards(runtime.store), cards(memory.store)];
  assert.match(shared?.evidence.at(-1) ?? '', /^key-ann began more than 100 tasks in an hour/);
  assert.match(local?.evidence[0] ?? '', /^key-[0-9a-f]{12} began more/);
  assert.deepEqual([cards(runtime.store).length, cards(memory.store).length], [1, 1]);
});

test('an error about a key says the same in its status and in the body of each API', async (context) => {
  const { post, key } = await openKeyed(context, { requestsPerMinute: 1, models: ['m-*'] });
  const gemini = (model: string) => `/v1beta/models/${model}:generateContent`;
  const send = async (path: string, model: string, text: string) => {
    const answer = await post(path, { model, messages: [] }, { authorization: `Bearer ${text}` });
    const { error } = (await answer.json()) as { error: Record<string, unknown> };
    return [answer.status, error.type ?? error.status, error.code, Number(answer.headers.get('retry-after')) > 10];
  };
  assert.equal((await post('/v1/messages', { model: 'm-1', messages: [] }, { 'x-api-key': key })).status, 200);
  const [messages, chat, responses] = ['/v1/messages', '/v1/chat/completions', '/v1/responses'];
  const [wrong, late] = ['key_unknown', 'rate_limit'];
  assert.deepEqual(await send(messages, 'm-1', `${key}x`), [401, 'authentication_error', wrong, false]);
  assert.deepEqual(await send(chat, 'm-1', `${key}x`), [401, 'invalid_request_error', wrong, false]);
  assert.deepEqual(await send(gemini('m-1'), 'm-1', `${key}x`), [401, 'UNAUTHENTICATED', 401, false]);
  assert.deepEqual(await send(messages, 'x-1', key), [403, 'permission_error', 'model_not_allowed', false]);
  assert.deepEqual(await send(gemini('x-1'), 'm-1', key), [403, 'PERMISSION_DENIED', 403, false]);
  assert.deepEqual(await send(messages, 'm-1', key), [429, 'rate_limit_error', late, true]);
  assert.deepEqual(await send(chat, 'm-1', key), [429, 'rate_limit_error', late, true]);
  assert.deepEqual(await send(responses, 'm-1', key), [429, 'rate_limit_error', late, true]);
  assert.deepEqual(await send(gemini('m-1'), 'm-1', key), [429, 'RESOURCE_EXHAUSTED', 429, true]);
});

test('a model that a request names in another way is checked, too', async (context) => {
  const { post, url, key, received } = await openKeyed(context, { models: ['claude-*', 'gemini-2.5-flash'] });
  const headers = { 'x-api-key': key };
  const chat = '/v1/chat/completions';
  const claude = 'claude-sonnet-4';
  const refused = async (path: string, body: unknown) => {
    const { status } = await post(path, body, headers);
    assert.equal(status, 403, JSON.stringify(body));
  };
  await refused(chat, { model: claude, models: [claude, 'o3'] });
  await refused(chat, { model: claude, models: 'o3' });
  await refused(chat, `{"model":"o3","messages":[],"model":"${claude}"}`);
  await refused(chat, `{"mod\\u0065l":"o3","messages":[],"model":"${claude}"}`);
  await refused(chat, ` {"models":["o3"],"model":"${claude}","models":["${claude}"]}`);
  for (const model of [
    'Claude-sonnet-4',
    'anthropic/claude-sonnet-4',
    ' claude-sonnet-4',
    ['claude-x'],
    null,
    { a: 1 },
  ])
    await refused(chat, { model, messages: [] });
  await refused('/v1beta/openai/chat/completions', { model: 'models/gemini-2.5-pro' });
  await refused('/v1beta/models/gemini-2.5-pro:generateContent', { model: 'models/gemini-2.5-flash' });
  await refused('/v1beta/models/gemini-2.5%2Dpro:generateContent', {});
  await refused('/v1beta/tunedModels/gemini-2.5-flash:generateContent', {});
  await refused('/v1beta/models/gemini-2.5-flash:batchGenerateContent', {});
  assert.equal(received.length, 0);
  assert.equal((await post(chat, { model: claude, models: ['claude-opus-4'] }, headers)).status, 200);
  const flash = await fetch(`${url}/v1beta/models/gemini-2.5%2Dflash:generateContent?$key=${key}`, {
    method: 'POST',
    body: '{"model":"models/o3"}',
  });
  assert.equal(flash.status, 200);
  assert.equal(received.at(-1)?.url, '/v1beta/models/gemini-2.5%2Dflash:generateContent');
});
