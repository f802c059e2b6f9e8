/** A client of lines in front of a server behind a URL. */

import assert from 'node:assert/strict';
import { test as plainTest } from 'node:test';
import { type Exchange, proxyUrl, startHttpServer } from './http-setup.ts';

const test = (title: string, run: () => Promise<void>) => plainTest(title, { timeout: 30_000 }, run);

const handshake = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } };
const content = [{ type: 'text', text: 'done' }];

/** Answers what every server does alike; returns whether it did. */
function answerBasics(exchange: Exchange, session = 'session-1'): boolean {
  const { method, frame } = exchange;
  if (method === 'GET') exchange.response.writeHead(405).end();
  else if (method === 'DELETE') exchange.response.writeHead(200).end();
  else if (frame.method === 'initialize') exchange.result(handshake, { 'mcp-session-id': session });
  else if (frame.id === undefined || frame.method === undefined) exchange.response.writeHead(202).end();
  else return false;
  return true;
}

test('a session is begun, used and ended with the headers of the protocol', async () => {
  const server = await startHttpServer((exchange) => {
    if (!answerBasics(exchange)) exchange.result({ content });
  });
  const proxy = proxyUrl(server.url, { authorization: 'Bearer secret' });
  assert.deepEqual((await proxy.initialize()).result, handshake);
  assert.deepEqual((await proxy.call('read', { n: 1 })).result, { content });
  assert.equal(await proxy.end(), 0);
  const posts = server.seen.filter(({ method }) => method === 'POST');
  assert.deepEqual(
    posts.map(({ frame }) => frame.method),
    ['initialize', 'notifications/initialized', 'tools/call'],
  );
  for (const { headers } of posts) {
    assert.equal(headers.authorization, 'Bearer secret');
    assert.equal(headers.accept, 'application/json, text/event-stream');
    assert.equal(headers['content-type'], 'application/json');
  }
  const [first, ...rest] = server.seen;
  assert.equal(first?.headers['mcp-session-id'], undefined);
  assert.equal(first?.headers['mcp-protocol-version'], undefined);
  for (const { headers } of rest) {
    assert.equal(headers['mcp-session-id'], 'session-1');
    assert.equal(headers['mcp-protocol-version'], '2025-06-18');
  }
  assert.equal(server.seen.at(-1)?.method, 'DELETE');
  server.close();
});

test('bodies and messages pass byte for byte', async () => {
  const answer = '{"jsonrpc":"2.0","id":7, "result":{"big":9007199254740993,"content":[],"x":1.10}}';
  const server = await startHttpServer((exchange) => {
    if (!answerBasics(exchange)) exchange.json(answer.replace(', ', ',\r\n'));
  });
  const proxy = proxyUrl(server.url);
  await proxy.initialize();
  const request = '{ "jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","n":9007199254740993} ,"y":1.0}';
  proxy.input.write(`${request}\n`);
  await proxy.find(({ id }) => id === 7);
  assert.equal(server.seen.find(({ frame }) => frame.id === 7)?.body, request);
  assert.equal(proxy.lines.at(-1), answer.replace(', ', ',  '));
  await proxy.end();
  server.close();
});

test('events become lines; a stream that ends before its answer is gone on with', async () => {
  const server = await startHttpServer((exchange) => {
    const { method, headers, frame, response } = exchange;
    if (method === 'GET' && headers['last-event-id'] === 'e2') {
      exchange.events(`id: e3\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 2, result: { content } })}\n\n`);
      response.end();
    } else if (frame.method === 'tools/call') {
      exchange.events(
        ': a comment\n\n',
        'id: e1\nretry: 10\ndata: \n\n',
        'event: message\r\nid: e2\r\ndata: {"jsonrpc"',
      );
      exchange.events(':"2.0",\r\ndata: "method":"notifications/message","params":{"n":1}}\r\n\r\n');
      response.end();
    } else answerBasics(exchange);
  });
  const proxy = proxyUrl(server.url);
  await proxy.initialize();
  const { result } = await proxy.call('slow');
  assert.deepEqual(result, { content });
  assert.deepEqual(proxy.frames[1]?.params, { n: 1 });
  await proxy.end();
  server.close();
});

test('the stream of the server is read, and the answers of the client are sent', async () => {
  const server = await startHttpServer((exchange) => {
    const { method } = exchange;
    if (method === 'GET') exchange.events('data: {"jsonrpc":"2.0","id":"s1","method":"roots/list"}\n\n');
    else answerBasics(exchange);
  });
  const proxy = proxyUrl(server.url);
  await proxy.initialize();
  await proxy.find(({ method }) => method === 'roots/list');
  proxy.send({ id: 's1', result: { roots: [] } });
  await proxy.end();
  assert.ok(server.seen.some(({ frame }) => frame.id === 's1' && frame.result !== undefined));
  server.close();
});

test('a response without an answer is an error for the client, which sees no page for people', async () => {
  const pages = ['<h1>Sign in</h1>', '', '{"jsonrpc":"2.0","id":99,"result":{}}'];
  const server = await startHttpServer((exchange) => {
    if (exchange.frame.method === 'tools/call') exchange.response.writeHead(200).end(pages.shift() ?? '');
    else answerBasics(exchange);
  });
  const proxy = proxyUrl(server.url);
  await proxy.initialize();
  for (let n = 1; n <= 5; n++)
    assert.match(JSON.stringify(await proxy.call('read', { n })), /without an answer to the request/);
  assert.match(JSON.stringify(await proxy.call('another')), /circuit_open/);
  assert.ok(!proxy.lines.join('').includes('Sign in'));
  await proxy.end();
  server.close();
});

test('a session that the server has forgotten is begun again, and the call is sent once more', async () => {
  let session = 0;
  const server = await startHttpServer((exchange) => {
    const { frame, headers, method } = exchange;
    if (method === 'POST' && frame.method !== 'initialize' && headers['mcp-session-id'] !== `session-${session}`)
      exchange.response.writeHead(404).end();
    else if (frame.method === 'initialize') exchange.result(handshake, { 'mcp-session-id': `session-${++session}` });
    else if (!answerBasics(exchange)) exchange.result({ content });
  });
  const proxy = proxyUrl(server.url);
  await proxy.initialize();
  await proxy.call('read');
  session = 10;
  const both = await Promise.all([proxy.call('read', { n: 1 }), proxy.call('read', { n: 2 })]);
  for (const { result } of both) assert.deepEqual(result, { content });
  assert.equal(proxy.frames.length, 4, 'the client sees one handshake');
  assert.equal(session, 11, 'one session is begun');
  await proxy.end();
  assert.equal(server.seen.at(-1)?.headers['mcp-session-id'], 'session-11');
  server.close();
});

test('401 and 403 name mcp-remote and count for nothing; no redirect is followed', async () => {
  let status = 401;
  const server = await startHttpServer((exchange) => {
    if (exchange.frame.method !== 'tools/call') answerBasics(exchange);
    else exchange.response.writeHead(status, { location: 'https://elsewhere.example/mcp?token=s' }).end();
  });
  const proxy = proxyUrl(server.url);
  await proxy.initialize();
  for (let n = 0; n < 8; n++) {
    const { result } = await proxy.call('read', { n });
    assert.match(JSON.stringify(result), /HTTP 401.*mcp-remote/);
    status = 401;
  }
  status = 307;
  const { result } = await proxy.call('read', { n: 'redirect' });
  assert.match(JSON.stringify(result), /redirects to https:\/\/elsewhere\.example\/mcp, which was not followed/);
  assert.match(proxy.reports.join('\n'), /mcp-remote/);
  await proxy.end();
  server.close();
});

test('a server that cannot be reached trips its breaker', async () => {
  const server = await startHttpServer((exchange) => {
    if (exchange.frame.method === 'tools/call') exchange.response.destroy();
    else answerBasics(exchange);
  });
  const proxy = proxyUrl(server.url);
  await proxy.initialize();
  for (let n = 0; n < 5; n++)
    assert.match(JSON.stringify((await proxy.call('read', { n })).result), /cannot be reached/);
  const before = server.seen.length;
  const { result } = await proxy.call('another', { n: 6 });
  assert.match(JSON.stringify(result), /circuit_open/);
  assert.equal(server.seen.length, before, 'the sixth call is not sent, to no tool');
  await proxy.end();
  server.close();
});

test('a server of the old transport is refused with what to do', async () => {
  const server = await startHttpServer(({ response }) => response.writeHead(405).end());
  const proxy = proxyUrl(server.url);
  const { error } = await proxy.request('initialize', {});
  assert.match(JSON.stringify(error), /old HTTP\+SSE transport.*mcp-remote/);
  await proxy.end();
  server.close();
});

test('a request of 2026-07-28 carries its headers, and a cancelled one is closed', async () => {
  const closed = Promise.withResolvers<void>();
  const server = await startHttpServer((exchange) => {
    if (exchange.frame.method !== 'tools/call') exchange.result({ resultType: 'complete', tools: [] });
    else exchange.response.on('close', closed.resolve);
  });
  const proxy = proxyUrl(server.url);
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  await proxy.request('tools/list', { _meta });
  void proxy.request('tools/call', { name: 'größe', arguments: {}, _meta });
  while (server.seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  proxy.send({ method: 'notifications/cancelled', params: { requestId: 2 } });
  await closed.promise;
  const [list, call] = server.seen;
  assert.equal(list?.headers['mcp-method'], 'tools/list');
  assert.equal(list?.headers['mcp-protocol-version'], '2026-07-28');
  assert.equal(call?.headers['mcp-name'], `=?base64?${Buffer.from('größe').toString('base64')}?=`);
  assert.equal(call?.headers['mcp-session-id'], undefined);
  await proxy.end();
  assert.deepEqual(
    server.seen.map(({ method }) => method),
    ['POST', 'POST'],
    'nothing else is sent',
  );
  server.close();
});

test('arguments that a schema of 2026-07-28 wants in headers are repeated there, and tasks are named', async () => {
  const header = (name: unknown, more = {}) => ({ 'x-mcp-header': name, ...more });
  const inner = { properties: { n: header('Count'), deep: header('Deep') } };
  const properties = { region: header('Region'), inner, bad: header('a: b\r\nx'), odd: header(7), free: {} };
  const tools = [{ name: 'look', inputSchema: { type: 'object', properties } }, { name: 'plain', inputSchema: 3 }, 1];
  const server = await startHttpServer((exchange) => exchange.result({ resultType: 'complete', tools }));
  const proxy = proxyUrl(server.url);
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  await proxy.request('tools/list', { _meta });
  const input = { region: ' größe', inner: { n: 7, deep: null }, bad: 'b', odd: 'o', free: 'f' };
  await proxy.request('tools/call', { name: 'look', arguments: input, _meta });
  await proxy.request('tools/call', { name: 'look', arguments: { inner: { n: 2 ** 60, deep: true } }, _meta });
  await proxy.request('tools/call', { name: 'look', arguments: input });
  await proxy.request('tasks/get', { taskId: 't-1', _meta });
  const sent = server.seen.map(({ headers }) =>
    Object.entries(headers).filter(([name]) => /^mcp-(param|name)/.test(name)),
  );
  const region = `=?base64?${Buffer.from(' größe').toString('base64')}?=`;
  assert.deepEqual(sent, [
    [],
    [
      ['mcp-name', 'look'],
      ['mcp-param-region', region],
      ['mcp-param-count', '7'],
    ],
    [
      ['mcp-name', 'look'],
      ['mcp-param-deep', 'true'],
    ],
    [],
    [['mcp-name', 't-1']],
  ]);
  await proxy.end();
  server.close();
});

test('lines that came before the end of the input are sent, and answered', async () => {
  const server = await startHttpServer((exchange) => {
    // The next lines wait for the answer to the handshake.
    if (exchange.frame.method === 'initialize') setTimeout(() => answerBasics(exchange), 50);
    else if (!answerBasics(exchange)) exchange.result({ content });
  });
  const proxy = proxyUrl(server.url);
  const lines = [
    { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {} } },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'read', arguments: {} } },
    { id: 3, method: 'ping' },
  ].map((frame) => JSON.stringify({ jsonrpc: '2.0', ...frame }));
  proxy.input.write(lines.join('\n'));
  assert.equal(await proxy.end(), 0);
  assert.deepEqual(proxy.frames.map(({ id }) => id).toSorted(), [1, 2, 3]);
  assert.deepEqual(
    server.seen.filter(({ method }) => method === 'POST').map(({ frame }) => frame.method),
    // The call waits for its judge.
    ['initialize', 'notifications/initialized', 'ping', 'tools/call'],
  );
  server.close();
});
