/** A server that wants a sign-in by browser, behind `mcp-remote` behind the proxy: tokens stay with `mcp-remote`. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { proxied } from './sessions.ts';

const remote = fileURLToPath(new URL('../node_modules/mcp-remote/dist/proxy.js', import.meta.url));
const accessToken = 'secret-access-token';

type Message = { readonly id?: number; readonly method?: string; readonly result?: unknown };
type Result = { readonly content: readonly { readonly text: string }[]; readonly isError?: boolean };

/** An MCP server and its authorization server, on one port. */
async function startServer(context: TestContext) {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const metadata = {
    issuer: base,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    registration_endpoint: `${base}/register`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  };
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', base);
    const body = Buffer.concat(await request.toArray()).toString('utf8');
    const json = (value: object, status = 200, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    if (url.pathname.startsWith('/.well-known/oauth-protected-resource'))
      json({ resource: `${base}/mcp`, authorization_servers: [base] });
    else if (url.pathname.startsWith('/.well-known/')) json(metadata);
    else if (url.pathname === '/register') json({ ...JSON.parse(body), client_id: 'client-1' }, 201);
    else if (url.pathname === '/authorize') {
      const back = new URL(url.searchParams.get('redirect_uri')!);
      back.searchParams.set('code', 'code-1');
      back.searchParams.set('state', url.searchParams.get('state') ?? '');
      response.writeHead(302, { location: back.href }).end();
    } else if (url.pathname === '/token')
      json({ access_token: accessToken, token_type: 'Bearer', expires_in: 3600, refresh_token: 'secret-refresh' });
    else if (request.headers.authorization !== `Bearer ${accessToken}`) {
      const resource = `${base}/.well-known/oauth-protected-resource/mcp`;
      json({ error: 'invalid_token' }, 401, { 'www-authenticate': `Bearer resource_metadata="${resource}"` });
    } else if (request.method !== 'POST') response.writeHead(405).end();
    else answerMessage(JSON.parse(body) as Message, json, response);
  }
  function answerMessage({ id, method }: Message, json: (value: object) => unknown, response: ServerResponse): void {
    if (id === undefined) response.writeHead(202).end();
    else if (method === 'initialize') {
      const serverInfo = { name: 'signed in', version: '1' };
      json({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } });
    } else {
      calls.push(String(method));
      json({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'broken' }], isError: true } });
    }
  }
  return { base, calls };
}

test('mcp-remote signs in by a browser behind the proxy, which judges its calls', {
  timeout: 90_000,
}, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-sign-in-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const { base, calls } = await startServer(context);
  const [program = '', ...args] = proxied(folder, ['--', process.execPath, remote, `${base}/mcp`]);
  // The browser does nothing: the test opens the page itself.
  const env = { PATH: process.env.PATH, HOME: folder, MCP_REMOTE_CONFIG_DIR: join(folder, 'auth'), BROWSER: 'true' };
  const child = spawn(program, args, { cwd: folder, env });
  context.after(() => child.kill('SIGKILL'));
  let printed = '';
  let opened: Promise<Response> | undefined;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    const [url] = /http:\/\/\S+\/authorize\?\S+(?=\s)/.exec(printed) ?? [];
    if (url !== undefined) opened ??= fetch(url);
  });
  const waiting = new Map<number, (message: Message) => void>();
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const message = JSON.parse(line) as Message;
      waiting.get(message.id ?? -1)?.(message);
    }
  });
  const request = (id: number, method: string, params: object) =>
    new Promise<Message>((resolve) => {
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  const clientInfo = { name: 'tester', version: '1' };
  const first = await request(0, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  assert.match(JSON.stringify(first.result), /signed in/);
  assert.equal((await opened)?.status, 200);
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const use = async (n: number) => {
    const { result } = await request(n, 'tools/call', { name: 'look', arguments: { n } });
    return (result as Result).content[0]!.text;
  };
  for (let n = 1; n <= 5; n++) assert.equal(await use(n), 'broken');
  assert.match(await use(6), /ask the user|check/i);
  assert.equal(calls.filter((method) => method === 'tools/call').length, 5);
  child.stdin.end();
  await once(child, 'exit');
  const state = readdirSync(folder).filter((name) => name.startsWith('state.db'));
  assert.ok(state.length > 0);
  for (const name of state) assert.ok(!readFileSync(join(folder, name)).includes('secret-'), `a token is in ${name}`);
});
