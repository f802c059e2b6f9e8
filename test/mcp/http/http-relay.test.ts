/** Clients by HTTP in front of a server behind a URL. */

import assert from 'node:assert/strict';
import { test as plainTest } from 'node:test';
import { relaySessionsMax } from '../../../src/mcp/limits.ts';
import { type Exchange, startHttpServer } from './http-setup.ts';
import { post, send, startRelay } from './listener-setup.ts';

const test = (title: string, run: () => Promise<void>) => plainTest(title, { timeout: 30_000 }, run);
const call = (id: unknown, name = 'read', more: object = {}) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { id }, ...more } },
});
const fail = { isError: true, content: [{ type: 'text', text: 'parse failure' }] };

test('headers, session ids and bytes pass as they are; a header of the command replaces a client’s', async () => {
  const answer = '{"jsonrpc":"2.0", "id":9007199254740993,\n"result":{"big":9007199254740993,"content":[]}}';
  const server = await startHttpServer((exchange) => exchange.json(answer, 200, { 'x-own': 'yes' }));
  const { url } = await startRelay(server.url, { 'x-team': 'blue' });
  const body = '{ "jsonrpc":"2.0","id":9007199254740993,\n"method":"tools/call","params":{"name":"a"} ,"y":1.0}';
  const headers = {
    ...{ 'mcp-session-id': 's-1', 'mcp-protocol-version': '2025-06-18', authorization: 'Bearer t', 'x-team': 'red' },
    ...{ 'mcp-param-region': 'eu', cookie: 'a=b', origin: new URL(url).origin, te: 'trailers' },
  };
  const got = await post(url, body, headers);
  assert.equal(got.text, answer);
  assert.equal(got.headers['x-own'], 'yes');
  const [seen] = server.seen;
  assert.equal(seen?.body, body);
  for (const [name, value] of Object.entries({ ...headers, 'x-team': 'blue', origin: undefined, te: undefined }))
    assert.equal(seen?.headers[name], value, name);
  assert.equal(seen?.headers.host, server.url.host);
  assert.equal(seen?.headers['accept-encoding'], 'identity');
});

test('a stream passes byte for byte, with ids of events, comments and retries', async () => {
  const events = [
    ': hello\n\n',
    'id: a\nretry: 100\ndata: \n\n',
    'event: message\r\nid: b\r\ndata: {"jsonrpc":"2.0","method":"notifications/message",\r\ndata: "params":{}}\r\n\r\n',
    'id: c\ndata: {"jsonrpc":"2.0","id":1, "result":{"content":[]}}\n\n',
  ];
  const server = await startHttpServer(({ response, ...exchange }) => {
    exchange.events(...events);
    response.end();
  });
  const { url } = await startRelay(server.url);
  const got = await post(url, call(1), { 'mcp-session-id': 's' });
  assert.equal(got.text, events.join(''));
  const resumed = await send(url, 'GET', { accept: 'text/event-stream', 'last-event-id': 'b', 'mcp-session-id': 's' });
  assert.equal(resumed.text, events.join(''));
  assert.equal(server.seen[1]?.headers['last-event-id'], 'b');
});

const eras: readonly (readonly [name: string, headers: Record<string, string>, params: object])[] = [
  ['in a session', { 'mcp-session-id': 's' }, {}],
  ['without a session', {}, { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }],
];
for (const [name, headers, params] of eras) {
  test(`a tool that fails five times is not reached a sixth time, ${name}`, async () => {
    const server = await startHttpServer((exchange) => exchange.result(fail));
    const { url } = await startRelay(server.url);
    for (let n = 1; n <= 5; n++)
      assert.match((await post(url, call(n, 'read', params), headers)).text, /parse failure/);
    const refused = await post(url, call(6, 'read', params), headers);
    assert.equal(refused.status, 200);
    assert.equal(refused.frame.id, 6);
    assert.match(refused.text, /circuit_open/);
    assert.equal(server.seen.length, 5);
  });
}

test('a server that is gone or answers 5xx trips its breaker; 401 passes and counts for nothing', async () => {
  let answer = ({ response }: Exchange) => void response.writeHead(401, { 'www-authenticate': 'Bearer x' }).end('no');
  const server = await startHttpServer((exchange) => answer(exchange));
  const { url } = await startRelay(server.url);
  const headers = { 'mcp-session-id': 's' };
  for (let n = 1; n <= 7; n++) {
    const got = await post(url, call(n), headers);
    assert.deepEqual([got.status, got.text, got.headers['www-authenticate']], [401, 'no', 'Bearer x']);
  }
  answer = ({ response }) => void response.writeHead(503).end('busy');
  for (let n = 10; n < 13; n++) assert.equal((await post(url, call(n), headers)).status, 503);
  answer = ({ response }) => void response.destroy();
  for (let n = 13; n < 15; n++) assert.match((await post(url, call(n), headers)).text, /cannot be reached/);
  const before = server.seen.length;
  assert.match((await post(url, call(15, 'another'), headers)).text, /circuit_open/);
  assert.equal(server.seen.length, before);
});

test('P27, P28: a server that hangs in a call is asked by ping; silence trips its breaker', async () => {
  let isDeaf = false;
  const server = await startHttpServer((exchange) => {
    const { method, id } = exchange.frame;
    if (method === 'initialize') exchange.result({ capabilities: { tools: {} } }, { 'mcp-session-id': 's' });
    else if (id === undefined) exchange.response.writeHead(202).end();
    else if (method === 'ping' && !isDeaf) exchange.result({});
  });
  const { url, gear, reports } = await startRelay(
    server.url,
    {},
    { circuit_breaker: { health_check_interval_secs: 1, failure_threshold: 2, timeout_secs: 600 } },
  );
  const headers = { 'mcp-session-id': 's' };
  await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params: {} });
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
  const hanging = post(url, call(1, 'slow'), headers).catch(() => undefined);
  const pings = () => server.seen.filter(({ frame }) => frame.method === 'ping');
  while (pings().length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.match(String(pings()[0]?.frame.id), /^switchgear-/);
  assert.equal(pings()[0]?.headers['mcp-session-id'], 's');
  assert.equal(gear.breaker('mcp__docs').stats.consecutiveFailures, 0);
  isDeaf = true;
  while (gear.breaker('mcp__docs').state !== 'OPEN') await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(reports.includes('The MCP server did not answer a ping for 1 s.'), reports.join('\n'));
  assert.match((await post(url, call(2, 'other'), headers)).text, /circuit_open/);
  server.close();
  await hanging;
});

const filler = 'ü'.repeat(1_000_000);
/** Answers that are too long to be held: the failure that they report stands at the end. */
const longAnswers: Readonly<Record<string, (exchange: Exchange) => unknown>> = {
  JSON: ({ json, frame }) =>
    json(
      `{"id":${frame.id},"result":{"content":[{"type":"text","text":"${filler}"}], "isError":true},"jsonrpc":"2.0"}`,
    ),
  'an event': ({ events, response, frame }) => {
    const result = `"result":{"content":[{"type":"text","text":"${filler}"}], "isError":true}`;
    events(`event: message\nid: e-${frame.id}\ndata: {"jsonrpc":"2.0",${result},"id":${frame.id}}\n\n`, ': end\n\n');
    response.end();
  },
};

for (const [title, answer] of Object.entries(longAnswers)) {
  test(`long answers as ${title} pass byte for byte, and count by their flag`, async () => {
    const server = await startHttpServer(answer);
    const { url, gear } = await startRelay(server.url);
    const headers = { 'mcp-session-id': 's' };
    for (let n = 1; n <= 5; n++) {
      const [through, direct] = await Promise.all([post(url, call(n), headers), post(server.url.href, call(n))]);
      assert.equal(through.text === direct.text, true);
      assert.equal(through.headers['content-length'], direct.headers['content-length']);
    }
    assert.equal(gear.breaker('mcp__docs__read').state, 'OPEN');
    assert.equal(gear.breaker('mcp__docs').stats.totalSuccesses, 5);
    assert.match((await post(url, call(6), headers)).text, /circuit_open/);
  });
}

test('a long answer that breaks off is a broken response for the client, and a failure of the server', async () => {
  const server = await startHttpServer(({ response, frame }) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 9_000_000 });
    response.write(`{"jsonrpc":"2.0","id":${frame.id},"result":{"content":"${filler}`, () => response.destroy());
  });
  const { url, gear } = await startRelay(server.url);
  await assert.rejects(post(url, call(1), { 'mcp-session-id': 's' }));
  assert.equal(gear.breaker('mcp__docs').stats.consecutiveFailures, 1);
});

/** Responses with HTTP 200 that do not answer their request. */
const strange: Readonly<Record<string, (exchange: Exchange) => unknown>> = {
  'a page for people': ({ response }) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>'),
  'the answer to another request': ({ json }) => json({ jsonrpc: '2.0', id: 'other', result: { content: [] } }),
  nothing: ({ response }) => response.writeHead(200).end(),
  'half of an answer': ({ response, frame }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"jsonrpc":"2.0","id":${frame.id},"resu`);
  },
};

for (const [title, answer] of Object.entries(strange)) {
  test(`a server that answers with ${title} trips its breaker, and its clients see the response`, async () => {
    const server = await startHttpServer(answer);
    const { url } = await startRelay(server.url);
    const headers = { 'mcp-session-id': 's' };
    for (let n = 1; n <= 5; n++) {
      const { status, text } = await post(url, call(n), headers);
      assert.deepEqual([status, text.includes('isError')], [200, false]);
    }
    assert.match((await post(url, call(6, 'another'), headers)).text, /circuit_open/);
    assert.equal(server.seen.length, 5);
  });
}

test('stderr says what to do about a server of the old transport, and about one that wants a sign-in', async () => {
  let status = 405;
  const server = await startHttpServer(({ response }) => response.writeHead(status).end());
  const { url, reports } = await startRelay(new URL('/sse', server.url));
  reports.length = 0;
  const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
  for (let n = 0; n < 2; n++) assert.equal((await post(url, hello)).status, 405);
  status = 401;
  assert.equal((await post(url, hello)).status, 401);
  assert.equal(reports.length, 2);
  assert.match(reports[0]!, /\/sse does not take messages of MCP .*old HTTP\+SSE transport .*mcp-remote/);
  assert.match(reports[1]!, /refused the credentials \(HTTP 401\)/);
});

test('a redirect is not followed and not passed on', async () => {
  const server = await startHttpServer(({ response }) =>
    response.writeHead(307, { location: 'https://evil.example/mcp' }).end(),
  );
  const { url } = await startRelay(server.url);
  const got = await post(url, call(1), { authorization: 'Bearer t' });
  assert.equal(got.status, 502);
  assert.equal(got.headers.location, undefined);
  assert.match(got.text, /redirects to https:\/\/evil.example\/mcp/);
});

test('a client of 2026-07-28 that closes its response cancels the request', async () => {
  const closed = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const server = await startHttpServer(({ response }) => {
    response.on('close', closed.resolve);
    reached.resolve();
  });
  const { url } = await startRelay(server.url);
  const params = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
  const leaving = new AbortController();
  const body = JSON.stringify(call(1, 'slow', params));
  const headers = { 'content-type': 'application/json' };
  const left = fetch(url, { method: 'POST', body, headers, signal: leaving.signal }).catch(() => 'left');
  await reached.promise;
  leaving.abort();
  await closed.promise;
  assert.equal(await left, 'left');
});

test('a client without a session is asked by a result, and its next request continues the call', async () => {
  const server = await startHttpServer((exchange) => exchange.result({ resultType: 'complete', content: [] }));
  const policy = { rules: ['ability:*pay*|confirm|"money leaves"'] };
  const { url, gear } = await startRelay(server.url, {}, policy);
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'tester', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  };
  const approve = { action: 'accept', content: { approve: true } };
  for (const id of [1, 3]) {
    const input = { arguments: { n: id }, _meta };
    const { frame } = await post(url, call(id, 'pay', input));
    const asked = frame.result as { readonly inputRequests: object; readonly requestState: string };
    const inputResponses = Object.fromEntries(Object.keys(asked.inputRequests).map((name) => [name, approve]));
    const answer = { ...input, inputResponses, requestState: asked.requestState };
    const foreign = await post(url, call(id + 10, 'pay', answer), { authorization: 'Bearer other' });
    assert.match(foreign.text, /input_required/, 'another client is asked for itself');
    const done = await post(url, call(id + 1, 'pay', answer));
    assert.deepEqual(done.frame, { jsonrpc: '2.0', id: id + 1, result: { resultType: 'complete', content: [] } });
    assert.match((await post(url, call(id + 20, 'pay', answer))).text, /input_required/, 'a state is used once');
  }
  assert.deepEqual(
    server.seen.map(({ frame }) => frame.id),
    [2, 4],
  );
  assert.equal(gear.breaker('mcp__docs__pay').stats.totalRequests, 2);
});

test('a client that goes away gives up its call, and the next answer with its id is for the next request', async () => {
  let reached = Promise.withResolvers<void>();
  const server = await startHttpServer((exchange) => {
    if ((exchange.frame.params as { readonly name: string }).name === 'slow') reached.resolve();
    else exchange.result(fail);
  });
  const { url } = await startRelay(server.url);
  const session = { 'mcp-session-id': 's' };
  for (let n = 1; n <= 5; n++) {
    reached = Promise.withResolvers<void>();
    const leaving = new AbortController();
    const headers = { 'content-type': 'application/json', ...session };
    const options = { method: 'POST', body: JSON.stringify(call(n, 'slow')), headers, signal: leaving.signal };
    const left = fetch(url, options).catch(() => 'left');
    await reached.promise;
    leaving.abort();
    assert.equal(await left, 'left');
    // The listener has seen the end of the connection when it answers another one.
    await new Promise((resolve) => setImmediate(resolve));
    assert.match((await post(url, call(n, 'read'), session)).text, /parse failure/);
  }
  assert.match((await post(url, call(6, 'read'), session)).text, /circuit_open/);
});

test('more clients without sessions than are remembered, as with new credentials each hour, are served', async () => {
  const server = await startHttpServer((exchange) => exchange.result({ resultType: 'complete', content: [] }));
  const { url } = await startRelay(server.url);
  const params = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
  const ask = (n: number) => post(url, call(n, 'read', params), { authorization: `Bearer ${n}` });
  for (let n = 0; n <= relaySessionsMax; n += 8) {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, more) => ask(n + more)));
    for (const { status } of answers) assert.equal(status, 200);
  }
});
