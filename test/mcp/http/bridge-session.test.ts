/** Sessions of clients by HTTP in front of a stdio server that a test writes. */

import assert from 'node:assert/strict';
import { type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import { test as plainTest } from 'node:test';
import { BridgeSession } from '../../../src/mcp/http/bridge-session.ts';
import { listen as startListener } from '../../../src/mcp/http/listener.ts';
import { LongMessages } from '../../../src/mcp/http/long-messages.ts';
import { endLine } from '../../../src/mcp/http/request-body.ts';
import { lostClientMs, sessionIdleMs } from '../../../src/mcp/limits.ts';
import { startServerProcess } from '../../../src/mcp/server-process.ts';
import { accept, post, send, startBridge } from './listener-setup.ts';

const test = (title: string, run: () => Promise<void>) => plainTest(title, { timeout: 60_000 }, run);

/** A server: answers the handshake, then runs the script for each message `m`, with `say` for a message of its own. */
const serverOf = (script: string): readonly string[] => [
  process.execPath,
  '-e',
  `const say = (frame) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...frame }) + '\\n');
   let rest = '';
   process.stdin.on('data', (chunk) => {
     rest += chunk;
     for (let end = rest.indexOf('\\n'); end !== -1; end = rest.indexOf('\\n')) {
       const m = JSON.parse(rest.slice(0, end));
       rest = rest.slice(end + 1);
       if (m.method === 'initialize') {
         const serverInfo = { name: 's', version: '1' };
         say({ id: m.id, result: { protocolVersion: m.params.protocolVersion, capabilities: {}, serverInfo } });
       } else { ${script} }
     }
   });`,
];

async function begin(url: string) {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'tester', version: '1' } };
  const { status, headers } = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  assert.equal(status, 200);
  const own = { 'mcp-session-id': String(headers['mcp-session-id']) };
  const tell = (method: string, more: object = {}) => post(url, { jsonrpc: '2.0', method, params: more }, own);
  const ask = (id: unknown, method: string, more: object = {}) =>
    post(url, { jsonrpc: '2.0', id, method, params: more }, own);
  await tell('notifications/initialized');
  return { own, tell, ask };
}

/** Opens the stream of a session; resolves when its head is there. */
function listen(url: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = sendRequest(url, { method: 'GET', headers: { accept, ...headers }, agent: false }, resolve);
    request.on('error', reject).end();
  });
}

/** Reads a stream until a text is in it. */
async function readUntil(response: IncomingMessage, text: string): Promise<string> {
  let seen = '';
  for await (const part of response.iterator({ destroyOnReturn: false })) {
    seen += String(part);
    if (seen.includes(text)) break;
  }
  return seen;
}

test('a cancelled request ends its response, and its id can be used again', async () => {
  const { url } = await startBridge(serverOf(`if (m.method === 'quick') say({ id: m.id, result: { fine: true } });`));
  const { ask, tell } = await begin(url);
  const left = ask(7, 'slow');
  // The server has the request when it answers the next one.
  assert.equal((await ask(8, 'quick')).status, 200);
  assert.equal((await tell('notifications/cancelled', { requestId: 7, reason: 'no more' })).status, 202);
  assert.match(JSON.stringify((await left).frame.error), /gave up/);
  const again = await ask(7, 'quick');
  assert.deepEqual([again.status, again.frame.result], [200, { fine: true }]);
});

test('messages for a server that does not read are refused above a bound', async () => {
  const { url } = await startBridge(serverOf('process.stdin.pause(); setInterval(() => {}, 1000);'));
  const { own } = await begin(url);
  const text = 'x'.repeat(1_000_000);
  const statuses: number[] = [];
  for (let n = 0; n < 40 && statuses.at(-1) !== 503; n++) {
    const answer = await post(url, { jsonrpc: '2.0', method: 'notifications/text', params: { text } }, own);
    statuses.push(answer.status);
    if (answer.status === 503) assert.equal(answer.headers['retry-after'], '1');
  }
  assert.equal(statuses.at(-1), 503);
  assert.ok(statuses.length > 10, 'what a slow server may have to read is taken');
  const other = await begin(url);
  assert.equal((await other.tell('notifications/text')).status, 202, 'another session is not concerned');
});

test('a listening client that connects again gets only what was not sent, or what came after an event', async () => {
  const { url } = await startBridge(
    serverOf(`if (m.method === 'notifications/ask')
        say({ id: 'q' + m.params.n, method: 'sampling/createMessage', params: { n: m.params.n } });`),
  );
  const { own, tell } = await begin(url);
  await tell('notifications/ask', { n: 1 });
  const first = await listen(url, own);
  assert.match(await readUntil(first, '"q1"'), /"q1"/, 'a question from before');
  const closed = new Promise((resolve) => first.once('close', resolve));
  first.destroy();
  await closed;
  await tell('notifications/ask', { n: 2 });
  // The listener notices the end of the stream when it has read it.
  let second = await listen(url, own);
  while (second.statusCode === 409) second = await listen(url, own);
  const text = await readUntil(second, '"q2"');
  assert.doesNotMatch(text, /"q1"/);
  second.destroy();
  const third = await listen(url, { ...own, 'last-event-id': '0-1' });
  assert.doesNotMatch(await readUntil(third, '"q2"'), /"q1"/);
  third.destroy();
});

test('a body that is too long gets 413, declared or not, and the client can read it', async () => {
  const { url } = await startBridge(serverOf(''));
  const long = Buffer.alloc(50_000_000, 0x20);
  const headers = { 'content-type': 'application/json', accept };
  for (const more of [{ 'content-length': String(long.length) }, { 'transfer-encoding': 'chunked' }] as const) {
    const { status } = await send(url, 'POST', { ...headers, ...(more as Record<string, string>) }, long);
    assert.equal(status, 413);
  }
});

const versionKey = 'io.modelcontextprotocol/protocolVersion';
const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

/** A request of 2026-07-28 with its headers. */
function modern(url: string, id: unknown, method: string, params: object = {}, more: Record<string, string> = {}) {
  const { name } = params as { readonly name?: string };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name && { 'mcp-name': name }) };
  const { _meta = {} } = params as { readonly _meta?: object };
  const meta = { [versionKey]: '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'tester' }, ..._meta };
  return post(url, { jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } }, { ...headers, ...more });
}

test('clients of 2026-07-28 share a server without a session; ids and progress tokens are their own', async () => {
  const { url } = await startBridge(
    serverOf(`
      global.held ??= [];
      if (m.method === 'tools/call') held.push(m);
      if (held.length === 3) for (const each of held.splice(0).reverse()) {
        const { _meta: { progressToken }, arguments: { n } } = each.params;
        say({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
        say({ id: each.id, result: { resultType: 'complete', content: [], pid: process.pid, n } });
      }`),
  );
  const call = (id: unknown, n: number) => {
    const params = { name: 'read', arguments: { n }, _meta: { progressToken: 'p' } };
    return modern(url, id, 'tools/call', params);
  };
  const answers = await Promise.all([call(1, 1), call(1, 2), call('1', 3)]);
  for (const [index, { status, text, frame, headers }] of answers.entries()) {
    assert.equal(status, 200);
    assert.equal(headers['mcp-session-id'], undefined);
    assert.equal(frame.id, index === 2 ? '1' : 1);
    assert.equal((frame.result as { readonly n: number }).n, index + 1);
    assert.equal(text.match(/notifications\/progress/g)?.length, 1);
    assert.match(text, /"progressToken":"p"/);
    assert.doesNotMatch(text, /^id: /m, 'a stream is not gone on with');
  }
  const pids = answers.map(({ frame }) => (frame.result as { readonly pid: number }).pid);
  assert.equal(new Set(pids).size, 1);
});

test('a client of 2026-07-28 cancels by closing its response; a subscription has the id of its client', async () => {
  const { url } = await startBridge(
    serverOf(`
      global.seen ??= [];
      seen.push(m);
      if (m.method === 'subscriptions/listen') say({ method: 'notifications/tools/list_changed',
        params: { _meta: { '${subscriptionKey}': m.id }, big: 'x' } });
      if (m.method === 'seen') say({ id: m.id, result: { resultType: 'complete', seen } });`),
  );
  const body = JSON.stringify({
    ...{ jsonrpc: '2.0', id: 'mine', method: 'subscriptions/listen' },
    params: { _meta: { [versionKey]: '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'tester' } } },
  });
  const headers = {
    ...{ 'content-type': 'application/json', accept },
    ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
  };
  const response = await new Promise<IncomingMessage>((resolve) => {
    sendRequest(url, { method: 'POST', headers, agent: false }, resolve).end(body);
  });
  const text = await readUntil(response, 'list_changed');
  assert.match(text, new RegExp(`"${subscriptionKey}":"mine"`));
  response.destroy();
  let seen: readonly { readonly id?: number; readonly method: string; readonly params: { requestId?: number } }[] = [];
  while (!seen.some(({ method }) => method === 'notifications/cancelled'))
    seen = ((await modern(url, 'mine', 'seen')).frame.result as { readonly seen: typeof seen }).seen;
  assert.equal(seen.find(({ method }) => method === 'notifications/cancelled')?.params.requestId, seen[0]?.id);
});

test('headers of a request of 2026-07-28 that do not agree with its body are refused', async () => {
  const { url } = await startBridge(serverOf(`say({ id: m.id, result: { resultType: 'complete' } });`));
  const params = { name: 'gr\u00f6\u00dfe', arguments: {} };
  const encoded = { 'mcp-name': `=?base64?${Buffer.from(params.name).toString('base64')}?=` };
  assert.equal((await modern(url, 1, 'tools/call', params, encoded)).status, 200);
  for (const wrong of [
    { 'mcp-method': 'ping', ...encoded },
    { 'mcp-name': 'other' },
    { 'mcp-protocol-version': '2025-06-18', ...encoded },
  ] as Record<string, string>[]) {
    const { status, frame } = await modern(url, 1, 'tools/call', params, wrong);
    assert.equal(status, 400);
    assert.equal((frame.error as { readonly code: number }).code, -32_020);
  }
  const plain = { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { [versionKey]: '2026-07-28' } } };
  assert.equal((await post(url, plain)).status, 400, 'without headers');
  // Official clients send notifications without these headers.
  const cancelled = { ...plain, id: undefined, method: 'notifications/cancelled' };
  assert.equal((await post(url, cancelled)).status, 202);
  assert.equal((await post(url, cancelled, { 'mcp-method': 'tools/call' })).status, 400);
});

/** A message of 2026-07-28 as it is written, with the headers of its method. */
const raw = (url: string, method: string, text: string) =>
  post(url, text, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method });
const meta = `"${versionKey}":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"tester"}`;

test('a message of 2026-07-28 cannot take the id or the token of another client, however it is written', async () => {
  const { url } = await startBridge(
    serverOf(`
      global.seen ??= [];
      seen.push(m.params);
      if (m.method !== 'slow') say({ id: m.id, result: { resultType: 'complete', seen } });`),
  );
  for (const members of [
    `"id":1,"id":2,"method":"fast","params":{"_meta":{${meta}}}`,
    `"ID":1,"id":2,"method":"fast","params":{"_meta":{${meta}}}`,
    `"ID":1,"method":"fast","params":{"_meta":{${meta}}}`,
    `"method":"notifications/cancelled","method":"fast","params":{"requestId":1,"_meta":{${meta}}}`,
    `"id":2,"method":"fast","params":{"_meta":{"progressToken":1}},"params":{"_meta":{${meta},"progressToken":2}}`,
    `"id":2,"method":"fast","params":{"_meta":{${meta},"progressToken":1,"progresstoken":2}}`,
  ]) {
    const { status } = await raw(url, 'fast', `{"jsonrpc":"2.0",${members}}`);
    assert.equal(status, 400, members);
  }
  const spaced = `"params":{"_meta":{${meta},"progressToken":"mine"}},"params _meta":{"progressToken":"other"}`;
  const { frame } = await raw(url, 'fast', `{"jsonrpc":"2.0","id":2,"method":"fast",${spaced}}`);
  const { seen } = frame.result as {
    readonly seen: readonly { readonly _meta: { readonly progressToken: unknown } }[];
  };
  assert.deepEqual(
    seen.map(({ _meta }) => _meta.progressToken),
    [1],
    'the token of the proxy',
  );
});

test('a late cancellation of one client does not end the request of another with the same id', async () => {
  const { url } = await startBridge(
    serverOf(`
      global.held ??= [];
      if (m.method === 'slow') held.push(m.id);
      if (m.method === 'fast') say({ id: m.id, result: { resultType: 'complete' } });
      if (m.method === 'free') for (const id of held.splice(0)) say({ id, result: { fine: 1 } });
      if (m.method === 'free') say({ id: m.id, result: { resultType: 'complete' } });`),
  );
  const cancel = (requestId: number) =>
    raw(
      url,
      'notifications/cancelled',
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${requestId},"_meta":{${meta}}}}`,
    );
  assert.equal((await modern(url, 5, 'fast')).status, 200);
  const slow = modern(url, 5, 'slow');
  const own = modern(url, 6, 'slow');
  assert.equal((await modern(url, 7, 'fast')).status, 200, 'the server has the slow ones');
  assert.equal((await cancel(5)).status, 202);
  assert.equal((await cancel(6)).status, 202);
  assert.match(JSON.stringify((await own).frame.error), /gave up/);
  assert.equal((await modern(url, 8, 'free')).status, 200);
  assert.deepEqual((await slow).frame.result, { fine: 1 });
});

test('a subscription that the server ends is ended for its client', async () => {
  const { url } = await startBridge(
    serverOf(`if (m.method === 'subscriptions/listen')
        say({ method: 'notifications/cancelled', params: { requestId: m.id } });`),
  );
  const { status, frame } = await modern(url, 'mine', 'subscriptions/listen');
  assert.deepEqual([status, frame.method, frame.params], [200, 'notifications/cancelled', { requestId: 'mine' }]);
});

test('a client that posts after its stream was lost is not taken for one that is gone', async () => {
  const options = { openJudge: () => new Promise<never>(() => {}), onJudgeFailed: () => {}, report: () => {} };
  const command = serverOf('say({ id: m.id, result: {} });');
  const session = new BridgeSession(
    's',
    { ...options, restarts: false, start: () => startServerProcess(command) },
    new LongMessages(),
  );
  const handler = {
    post: (_: IncomingMessage, response: ServerResponse, body: Buffer) =>
      session.post(response, JSON.parse(body.toString()), endLine(body)),
    get: (request: IncomingMessage, response: ServerResponse) => session.listen(request, response),
    delete: () => {},
  };
  const listener = await startListener({ host: '127.0.0.1', port: 0, path: '/mcp', allowedHosts: [], handler });
  const { own, ask } = await begin(listener.url);
  assert.equal(session.idleMs, sessionIdleMs);
  const stream = await listen(listener.url, own);
  assert.equal(session.isBusy, true);
  stream.destroy();
  while (session.isBusy) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(session.idleMs, lostClientMs);
  assert.equal((await ask(1, 'ping')).status, 200);
  assert.equal(session.idleMs, sessionIdleMs);
  await session.end();
  await listener.close();
});
