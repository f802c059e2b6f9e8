/** Clients by HTTP in front of stdio servers. */

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test as plainTest } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bridgeSessionsMax } from '../../../src/mcp/limits.ts';
import { accept, post, send, startBridge } from './listener-setup.ts';

const test = (title: string, run: () => Promise<void>) => plainTest(title, { timeout: 60_000 }, run);
const command = [process.execPath, fileURLToPath(new URL('../conformance/server.ts', import.meta.url))];
const clientInfo = { name: 'tester', version: '1' };
const initialize = {
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: { sampling: {} }, clientInfo },
};

async function begin(url: string) {
  const { status, headers, frame } = await post(url, initialize);
  assert.equal(status, 200);
  assert.equal((frame.result as { protocolVersion: string }).protocolVersion, '2025-11-25');
  const session = String(headers['mcp-session-id']);
  const own = { 'mcp-session-id': session };
  assert.equal((await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, own)).status, 202);
  const call = (id: number, name: string, more: object = {}) =>
    post(url, { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {}, ...more } }, own);
  return { session, own, call };
}

test('sessions are begun, used at once and ended', async () => {
  const { url } = await startBridge(command);
  assert.equal((await post(url, { jsonrpc: '2.0', id: 1, method: 'ping' })).status, 400, 'no session');
  const unknown = await post(url, { jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-session-id': 'x' });
  assert.equal(unknown.status, 404);
  assert.equal((await send(url, 'GET', { accept, 'mcp-session-id': 'x' })).status, 404);
  const [one, other] = await Promise.all([begin(url), begin(url)]);
  assert.notEqual(one.session, other.session);
  const answers = await Promise.all(
    [5, 6, 7].flatMap((id) => [one, other].map((each) => each.call(id, 'test_simple_text'))),
  );
  assert.deepEqual(
    answers.map(({ frame }) => frame.id),
    [5, 5, 6, 6, 7, 7],
  );
  assert.equal((await send(url, 'DELETE', one.own)).status, 200);
  assert.equal((await one.call(40, 'test_simple_text')).status, 404);
  assert.equal((await other.call(40, 'test_simple_text')).status, 200);
});

test('a tool that fails five times is refused', async () => {
  const { url } = await startBridge(command);
  const { call } = await begin(url);
  for (let n = 0; n < 5; n++) assert.match((await call(20 + n, 'test_error_handling')).text, /intentionally/);
  assert.match((await call(30, 'test_error_handling')).text, /circuit_open/);
});

test('progress comes on the stream of its call; a stream is gone on with by the id of its last event', async () => {
  const { url } = await startBridge(command);
  const { call, own } = await begin(url);
  const { text, headers } = await call(2, 'test_tool_with_progress', { _meta: { progressToken: 'p' } });
  assert.match(String(headers['content-type']), /event-stream/);
  assert.equal(text.match(/notifications\/progress/g)?.length, 3);
  const [, first] = /id: (\d+-1)\n/.exec(text) ?? [];
  const again = await send(url, 'GET', { accept, ...own, 'last-event-id': String(first) });
  assert.equal(again.text.match(/notifications\/progress/g)?.length, 2, 'what came after the first event');
  assert.match(again.text, /executed successfully/);
  assert.equal((await send(url, 'GET', { accept, ...own, 'last-event-id': '99-1' })).status, 400);
});

test('a question of the server reaches the client, and the answer the server', async () => {
  const { url } = await startBridge(command);
  const { own } = await begin(url);
  const body = {
    jsonrpc: '2.0',
    id: 2,
    method: 'tools/call',
    params: { name: 'test_sampling', arguments: { prompt: 'x' } },
  };
  const response = await fetch(url, {
    ...{ method: 'POST', body: JSON.stringify(body) },
    headers: { 'content-type': 'application/json', accept, ...own },
  });
  let text = '';
  for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
    const isFirst = !text.includes('sampling/createMessage');
    text += part;
    if (!isFirst || !text.includes('sampling/createMessage')) continue;
    const [, id] = /"id":"(question-\d+)"/.exec(text) ?? [];
    const result = { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } };
    assert.equal((await post(url, { jsonrpc: '2.0', id, result }, own)).status, 202);
  }
  assert.match(text, /LLM response: .*sampled/);
});

test('a server that cannot be started is an error for its client', async () => {
  const { url } = await startBridge(['/nonexistent/server']);
  const { frame } = await post(url, initialize);
  assert.match(JSON.stringify(frame.error), /could not be started/);
});

test('a session that was just used is not ended for a new one, which gets 503', async () => {
  const { url } = await startBridge([], () => {
    const exit = Promise.withResolvers<{ readonly code: number; readonly signal: null }>();
    const end = async () => exit.resolve({ code: 0, signal: null });
    const input = new PassThrough();
    const output = new PassThrough();
    input.on('data', (data: Buffer) => {
      for (const line of String(data).trim().split('\n')) {
        const { id } = JSON.parse(line) as { readonly id?: number };
        const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: clientInfo };
        if (id !== undefined) output.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
      }
    });
    return Promise.resolve({ input, output, ended: exit.promise, end, signal: end });
  });
  const { own } = await begin(url);
  for (let n = 1; n < bridgeSessionsMax; n++) assert.equal((await post(url, initialize)).status, 200);
  const more = await post(url, initialize);
  assert.deepEqual([more.status, more.headers['retry-after']], [503, '1']);
  assert.equal((await post(url, { jsonrpc: '2.0', id: 2, method: 'ping' }, own)).status, 200);
});
