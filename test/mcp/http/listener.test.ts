/** What a listener of the proxy refuses before a message is read, as the specification of MCP asks. */

import assert from 'node:assert/strict';
import { test as plainTest } from 'node:test';
import { startHttpServer } from './http-setup.ts';
import { accept, post, send, startRelay } from './listener-setup.ts';

const test = (title: string, run: () => Promise<void>) => plainTest(title, { timeout: 30_000 }, run);
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

test('foreign hosts, origins, methods, types and long bodies are refused and never reach the server', async () => {
  const server = await startHttpServer((exchange) => exchange.result({}));
  const { url } = await startRelay(server.url);
  const { port } = new URL(url);
  const json = { 'content-type': 'application/json', accept };
  const body = JSON.stringify(ping);
  const cases: readonly (readonly [status: number, method: string, headers: Record<string, string>, body?: string])[] =
    [
      [403, 'POST', { ...json, host: 'evil.example' }, body],
      [403, 'POST', { ...json, host: `evil.example:${port}` }, body],
      [403, 'POST', { ...json, host: `127.0.0.1:${port}.evil.example` }, body],
      [403, 'GET', { accept, host: `rebound.example:${port}` }],
      [403, 'DELETE', { host: 'evil.example' }],
      [403, 'POST', { ...json, origin: 'https://evil.example' }, body],
      [403, 'POST', { ...json, origin: 'null' }, body],
      [403, 'POST', { ...json, origin: `http://localhost:${port}` }, body],
      [403, 'POST', { ...json, 'sec-fetch-site': 'cross-site' }, body],
      [415, 'POST', { accept, 'content-type': 'text/plain' }, body],
      [415, 'POST', { accept, 'content-type': 'application/x-www-form-urlencoded' }, body],
      [415, 'POST', { accept }, body],
      [415, 'POST', { ...json, 'content-encoding': 'gzip' }, body],
      [406, 'POST', { ...json, accept: 'text/html' }, body],
      [406, 'GET', { accept: 'application/json' }],
      [405, 'PUT', json, body],
      [405, 'OPTIONS', { origin: `http://127.0.0.1:${port}` }],
      [413, 'POST', { ...json, 'content-length': '99999999' }],
      [400, 'POST', json, 'no message'],
      [400, 'POST', json, '7'],
    ];
  for (const [status, method, headers, text] of cases) {
    const answer = await send(url, method, headers, text ?? '').catch((error: Error) => ({ status: error.message }));
    assert.equal(answer.status, status, `${method} ${JSON.stringify(headers)}`);
  }
  const { status } = await post(url.replace('/mcp', '/other'), ping);
  assert.equal(status, 404);
  assert.equal(server.seen.length, 0);
  const good = await post(url, ping, { origin: `http://127.0.0.1:${port}` });
  assert.equal(good.status, 200);
  assert.equal(good.headers['access-control-allow-origin'], undefined);
  assert.equal(server.seen.length, 1);
});
