/** `switchgear mcp --listen` and `--url` as processes: what is left when one of the ends is gone. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test as plainTest } from 'node:test';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { compiled } from '../../harness/compiled.ts';
import { bin } from '../../harness/switchgear-bin.ts';
import { startHttpServer } from '../../mcp/http/http-setup.ts';
import { post, send } from '../../mcp/http/listener-setup.ts';
import { isRunning, serverFile, until } from './proxy-process.ts';

const test = (title: string, run: () => Promise<void>) => plainTest(title, { timeout: 60_000 }, run);
const folder = mkdtempSync(join(tmpdir(), 'switchgear-mcp-listen-'));
const children: ChildProcess[] = [];
after(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function startProxy(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const env = { ...compiled, PATH: process.env.PATH, HOME: folder, SWITCHGEAR_STORE: 'memory', ...more };
  const child = spawn(process.execPath, [bin, 'mcp', '--name', 'scripted', ...args], { cwd: folder, env });
  children.push(child);
  return child;
}

async function readUrl({ stderr }: ReturnType<typeof startProxy>): Promise<string> {
  let text = '';
  for await (const part of stderr.setEncoding('utf8')) {
    text += part as string;
    const [, url] = /listening on (\S+)/.exec(text) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(text);
}

/** Begins a session, and returns the process of its server. */
async function begin(url: string) {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const { headers } = await post(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const own = { 'mcp-session-id': String(headers['mcp-session-id']) };
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, own);
  const call = (id: number, name: string) =>
    post(url, { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} } }, own);
  return { own, call };
}

/** The processes below a process. */
async function listServers(pid: number): Promise<readonly number[]> {
  const ps = spawn('ps', ['-eo', 'pid=,ppid=,args='], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  for await (const part of ps.stdout.setEncoding('utf8')) text += part as string;
  const rows = text.split('\n').map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line));
  return rows.filter((row) => Number(row?.[2]) === pid && row?.[3]?.includes(serverFile)).map((row) => Number(row![1]));
}

test('a server that is killed in the middle of a call is answered for and started again', async () => {
  const proxy = startProxy(['--listen', '0', '--', process.execPath, serverFile]);
  const url = await readUrl(proxy);
  const { call, own } = await begin(url);
  const [pid] = await listServers(proxy.pid!);
  const hung = call(2, 'hang');
  await call(3, 'echo');
  process.kill(pid!, 'SIGKILL');
  assert.match((await hung).text, /before it answered/);
  assert.equal((await call(4, 'echo')).status, 200, 'the session goes on with another process');
  const [other] = await listServers(proxy.pid!);
  assert.notEqual(other, pid);
  assert.equal((await send(url, 'DELETE', own)).status, 200);
  assert.ok(!isRunning(other!), 'the end of the session ends its process');
  proxy.kill('SIGTERM');
  await once(proxy, 'exit');
});

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`no server is left when the proxy ends by ${signal}`, async () => {
    const proxy = startProxy(['--listen', '0', '--', process.execPath, serverFile]);
    const url = await readUrl(proxy);
    const { call } = await begin(url);
    void call(2, 'hang').catch(() => undefined);
    await begin(url);
    const servers = await listServers(proxy.pid!);
    assert.equal(servers.length, 2);
    proxy.kill(signal);
    await until(() => !servers.some(isRunning), 'the servers have ended');
    if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, 'exit');
  });
}

test('the end of one session leaves the store open for the others, and each task ends in the journal', async () => {
  const path = join(folder, 'sessions.db');
  const args = ['--listen', '0', '--', process.execPath, serverFile];
  const proxy = startProxy(args, { SWITCHGEAR_STORE: `sqlite:${path}` });
  const url = await readUrl(proxy);
  const beside = await begin(url);
  await beside.call(2, 'echo');
  const first = await begin(url);
  await first.call(2, 'echo');
  assert.equal((await send(url, 'DELETE', first.own)).status, 200);
  const last = await begin(url);
  for (const session of [beside, last]) assert.equal((await session.call(3, 'echo')).status, 200);
  proxy.kill('SIGTERM');
  await once(proxy, 'exit');
  const store = sqliteStore({ path });
  const count = (type: string) => store.tail(0).filter((entry) => entry.type === type).length;
  assert.deepEqual([count('task-started'), count('task-ended')], [3, 3]);
  store.close();
});

test('a store that opens at last ends the refusals of a listener, also in an older session', async () => {
  const blocked = join(folder, 'blocked');
  writeFileSync(blocked, 'no folder');
  const store = { SWITCHGEAR_STORE: `sqlite:${join(blocked, 'state.db')}` };
  const url = await readUrl(startProxy(['--listen', '0', '--', process.execPath, serverFile], store));
  const older = await begin(url);
  assert.match((await older.call(2, 'echo')).text, /cannot judge calls/);
  rmSync(blocked);
  const newer = await begin(url);
  for (const { call } of [newer, older]) assert.doesNotMatch((await call(3, 'echo')).text, /cannot judge calls/);
});

test('a port that another program uses is an error that names the option', async () => {
  const url = new URL(await readUrl(startProxy(['--listen', '0', '--', process.execPath, serverFile])));
  const second = startProxy(['--listen', url.port, '--', process.execPath, serverFile]);
  let printed = '';
  second.stderr.setEncoding('utf8').on('data', (part: string) => {
    printed += part;
  });
  const [code] = (await once(second, 'close')) as [number];
  const sentence = `the proxy cannot listen on 127.0.0.1, port ${url.port} (EADDRINUSE): another program uses it`;
  assert.ok(printed.includes(`${sentence}; choose one with --listen`), printed);
  assert.equal(code, 1);
});

test('a client on stdio that is gone ends the proxy and its session; no secret is printed', async () => {
  const server = await startHttpServer((exchange) => {
    if (exchange.frame.method === 'initialize') exchange.result({}, { 'mcp-session-id': 's1' });
    else if (exchange.method === 'GET') exchange.response.writeHead(405).end();
    else exchange.response.writeHead(202).end();
  });
  const header = 'Authorization: Bearer ${DOCS_TOKEN}';
  const proxy = startProxy(['--url', server.url.href, '--header', header], { DOCS_TOKEN: 'secret-value' });
  let printed = '';
  proxy.stderr.setEncoding('utf8').on('data', (part: string) => {
    printed += part;
  });
  proxy.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n');
  await once(proxy.stdout, 'data');
  proxy.stdin.end();
  const [code] = (await once(proxy, 'exit')) as [number];
  assert.equal(code, 0);
  assert.deepEqual(
    server.seen.map(({ method, headers }) => [method, headers.authorization]),
    [
      ['POST', 'Bearer secret-value'],
      ['DELETE', 'Bearer secret-value'],
    ],
  );
  assert.doesNotMatch(printed, /secret-value/);
});
