/** `switchgear gateway` on other addresses than loopback, and over TLS. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { main } from '../../../src/cli/main.ts';
import { messageOf, sendJson, sonnet } from '../../gateway/harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-listen-'));
const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
const received: (string | undefined)[] = [];
const mock = createServer((incoming, response) => {
  received.push(incoming.headers['x-api-key'] as string | undefined);
  sendJson(response, messageOf('hi', 10, 10));
});
const place = { cwd: folder, env: { HOME: folder, PROVIDER_KEY: 'sk-provider' } };
const policy = join(folder, 'policy.toml');
const store = ['--store', `sqlite:${join(folder, 'gear.db')}`];

before(async () => {
  const subject = ['-subj', '/CN=gateway.test', '-addext', 'subjectAltName=DNS:gateway.test'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const files = ['-keyout', keyFile, '-out', certFile];
  execFileSync('openssl', ['req', '-x509', ...kind, ...files, ...subject], { stdio: 'ignore' });
  await new Promise<void>((resolve) => mock.listen(0, '127.0.0.1', resolve));
  const upstream = `name = "own"\nurl = "http://127.0.0.1:${(mock.address() as AddressInfo).port}"`;
  writeFileSync(policy, `[[upstreams]]\n${upstream}\nkey_env = "PROVIDER_KEY"\n`);
});
after(() => {
  mock.closeAllConnections();
  mock.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command that ends by itself; resolves with its code and what it wrote. */
async function run(...args: string[]): Promise<string> {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const code = await main(['gateway', ...args, ...store], { ...place, out: write, err: write });
  return `${code} ${lines.join('\n')}`;
}

async function start(...options: string[]) {
  const stop = new AbortController();
  const started = Promise.withResolvers<string>();
  const errors: string[] = [];
  const terminal = { out: started.resolve, err: (line: string) => void errors.push(line), stopSignal: stop.signal };
  const ended = main(['gateway', ...store, '--port', '0', '--policy', policy, ...options], { ...place, ...terminal });
  const url = await Promise.race([started.promise, ended.then((code) => `ended with ${code}: ${errors.join()}`)]);
  const end = async () => {
    stop.abort();
    await ended;
  };
  return { url, errors, end, port: Number(/:(\d+)$/.exec(url)?.[1]) };
}

const body = JSON.stringify({ model: sonnet, max_tokens: 100, messages: [] });

/** Posts over TLS under a name that the certificate has. */
function post(port: number, host: string, key?: string): Promise<number | undefined> {
  const headers = { host, 'content-length': body.length, ...(key !== undefined && { 'x-api-key': key }) };
  const place = { host: '127.0.0.1', port, path: '/v1/messages', servername: 'gateway.test', agent: false } as const;
  return new Promise((resolve, reject) => {
    const sent = request({ ...place, method: 'POST', ca: readFileSync(certFile), headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

test('on another address the gateway speaks TLS, needs a key from the start, and knows its hosts', async () => {
  const tls = ['--tls-cert', certFile, '--tls-key', keyFile];
  const { url, errors, port, end } = await start('--host', '0.0.0.0', ...tls, '--allow-host', 'gateway.test');
  try {
    assert.match(url, /^https:\/\/0\.0\.0\.0:\d+$/);
    assert.match(errors.join('\n'), /no key exists, so every request is refused/);
    assert.equal(await post(port, 'gateway.test', 'sk-own'), 401);
    const key = /sk-switchgear-ann\.[\w-]{43}/.exec(await run('key', 'add', 'ann'))?.[0] ?? '';
    assert.equal(await post(port, 'gateway.test', key), 200);
    assert.equal(await post(port, 'gateway.test'), 401);
    assert.equal(await post(port, 'other.test', key), 403);
    assert.deepEqual(received, ['sk-provider']);
    await assert.rejects(fetch(`http://127.0.0.1:${port}/health`), 'plain HTTP gets no answer');
    assert.equal(await run('key', 'remove', 'ann'), '0 removed ann');
    assert.equal(await post(port, 'gateway.test', 'sk-own'), 401, 'also after the last key is removed');
  } finally {
    await end();
  }
});

test('with --insecure another address has plain HTTP, and still needs a key', async () => {
  const { url, port, end } = await start('--host', '0.0.0.0', '--insecure');
  try {
    assert.match(url, /^http:/);
    const send = { method: 'POST', body };
    assert.equal((await fetch(`http://127.0.0.1:${port}/v1/messages`, send)).status, 401);
  } finally {
    await end();
  }
});

test('an address beyond loopback and TLS files that cannot be used are refused before anything listens', async () => {
  for (const host of [
    '0.0.0.0',
    '::',
    '192.0.2.1',
    '1270.0.0.1',
    '::ffff:10.0.0.1',
    'example.com',
    '127.0.0.1.example.com',
  ])
    assert.match(await run('--port', '0', '--host', host), /^2 .*is not the loopback address/, host);
  const missing = join(folder, 'none.pem');
  const tls = (cert: string, key: string) => run('--port', '0', '--host', '::', '--tls-cert', cert, '--tls-key', key);
  assert.match(await tls(missing, keyFile), /^2 .*--tls-cert.*none\.pem.*ENOENT/);
  assert.match(await tls(certFile, missing), /^2 .*--tls-key.*none\.pem.*ENOENT/);
  assert.match(await tls(policy, keyFile), /^[12] .*--tls-cert/);
  assert.match(await run('--port', '0', '--tls-cert', certFile), /^2 .*need each other/);
});

test('a limit of a key with a typo is refused, and adds no key', async () => {
  const budgets = [
    '$20/dya',
    '$20/Day',
    '$20 /day',
    '$20/',
    '20/day/',
    '-5',
    '0',
    '$0.001',
    '1e3',
    'NaN',
    '$',
    '20,5',
    '€5',
  ];
  for (const text of budgets)
    assert.match(await run('key', 'add', 'bob', '--budget', text), /^2 .*--budget must be dollars/, text);
  for (const text of ['0', '-1', '1.5', '10/s', 'many'])
    for (const option of ['--requests-per-minute', '--tokens-per-minute'])
      assert.match(await run('key', 'add', 'bob', option, text), /^2 .*must be a whole number/, text);
  for (const text of [',', 'claude-*,', 'claude *', '^claude'])
    assert.match(await run('key', 'add', 'bob', '--models', text), /^2 .*--models must be names of models/, text);
  assert.match(await run('key', 'add', 'bob', '--bugdet', '$5'), /^2 .*unknown option --bugdet/);
  assert.match(await run('key', 'add', 'bob', '--budget', ''), /^2 .*--budget needs a value/);
  assert.match(await run('key', 'add', 'bob', '--budget', '$5', '--budget', '$9'), /^2 .*given twice/);
  for (const name of [
    '',
    ' ',
    '../x',
    'a b',
    'a.b',
    'a/b',
    'ä',
    '__proto__',
    'a\n',
    `a${'b'.repeat(40)}`,
    'x\u202ey',
    '$a',
  ])
    assert.doesNotMatch(await run('key', 'add', name), /^0/, JSON.stringify(name));
  assert.equal(await run('key', 'list'), '0 No keys.');
});
