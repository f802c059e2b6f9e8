/** `switchgear gateway` on a SQLite store: the command, its options, and what the store knows afterwards. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { main } from '../../../src/cli/main.ts';
import { readStoredCounts } from '../../../src/operator/counters.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { messageOf, sendJson, sonnet } from '../../gateway/harness.ts';

test('the gateway meters on the store, refuses beyond --max-spend, and ends', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-gateway-'));
  const mock = createServer((_, response) => sendJson(response, messageOf('hi', 10_000, 100)));
  await new Promise<void>((resolve) => mock.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    mock.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const stop = new AbortController();
  const started = Promise.withResolvers<string>();
  const errors: string[] = [];
  const terminal = {
    out: (line: string) => started.resolve(line),
    err: (line: string) => errors.push(line),
    ...{ cwd: folder, env: { HOME: folder }, stopSignal: stop.signal },
  };
  const store = `sqlite:${join(folder, 'gear.db')}`;
  const upstream = `http://127.0.0.1:${(mock.address() as AddressInfo).port}`;
  const args = ['gateway', '--store', store, '--port', '0', '--max-spend', '$0.05', '--upstream', upstream];
  const ended = main(args, terminal);
  ended.then((code) => started.reject(new Error(`exit ${code}: ${errors.join('\n')}`)));
  const url = await started.promise;
  const body = JSON.stringify({ model: sonnet, max_tokens: 100, messages: [] });
  const post = () => fetch(`${url}/task/nightly/v1/messages`, { method: 'POST', body });
  const statuses = [];
  for (let at = 0; at < 3; at++) statuses.push((await post()).status);
  assert.deepEqual(statuses, [200, 200, 402]);
  assert.match(errors.join('\n'), /^switchgear: gw-nightly halted: .*\$0\.05$/);
  const status: string[] = [];
  await main(['status', '--store', store], { ...terminal, out: (line) => status.push(line) });
  assert.match(status.join('\n'), /gw-nightly +halted +\S.* 0 tool calls +\$0\.0/);
  stop.abort();
  assert.equal(await ended, 0);
  const lines: string[] = [];
  await main(['inbox', 'list', '--store', store], { ...terminal, out: (line) => lines.push(line) });
  assert.match(lines.join('\n'), /gw-nightly/);
  const counted = sqliteStore({ path: join(folder, 'gear.db') });
  const { decision } = (await readStoredCounts(counted))!;
  counted.close();
  assert.equal(decision.get('gateway')?.allow, 2);
  assert.equal(decision.get('library')?.allow ?? 0, 0);
});

test('wrong options are refused', async () => {
  const run = async (...args: string[]) => {
    const lines: string[] = [];
    const terminal = { out: () => {}, err: (line: string) => lines.push(line), cwd: '/', env: {} };
    assert.equal(await main(['gateway', ...args], terminal), 2);
    return lines.join('\n');
  };
  assert.match(await run('--upstream', 'ftp://x'), /--upstream must be an address/);
  assert.match(await run('--upstream', 'acme=http://x'), /--upstream must name anthropic/);
  assert.match(await run('--host', '0.0.0.0'), /loopback address: give --tls-cert and --tls-key, or --insecure/);
  assert.match(await run('--observe=foo'), /--observe takes no value, got "foo"/);
  assert.match(await run('--allow-path', 'images'), /--allow-path must be paths such as .* got "images"/);
  assert.match(await run('--', 'claude'), /use switchgear run --gateway -- COMMAND/);
  assert.match(await run('key'), /expected .*add.*list.*remove/);
  assert.match(await run('key', 'add'), /missing argument NAME/);
  assert.match(await run('key', 'add', 'a', '--budget', '$20/fortnight'), /--budget must be dollars/);
  assert.match(await run('key', 'remove', 'a', '--budget', '$20'), /--budget is an option of gateway key add/);
  assert.match(await run('--max-spend', 'much'), /--max-spend must be dollars/);
});

test('a gateway that is started again on its store goes on with what its tasks have spent', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-gateway-'));
  const mock = createServer((_, response) => sendJson(response, messageOf('hi', 10_000, 100)));
  await new Promise<void>((resolve) => mock.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    mock.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const upstream = `http://127.0.0.1:${(mock.address() as AddressInfo).port}`;
  const store = `sqlite:${join(folder, 'gear.db')}`;
  const body = JSON.stringify({ model: sonnet, max_tokens: 100, messages: [] });
  const post = async (url: string) => (await fetch(`${url}/task/nightly/v1/messages`, { method: 'POST', body })).status;
  const run = async () => {
    const stop = new AbortController();
    const started = Promise.withResolvers<string>();
    const terminal = {
      out: started.resolve,
      err: () => {},
      cwd: folder,
      env: { HOME: folder },
      stopSignal: stop.signal,
    };
    const args = ['gateway', '--store', store, '--port', '0', '--max-spend', '0.09', '--upstream', upstream];
    const ended = main(args, terminal);
    const url = await started.promise;
    const statuses = [await post(url), await post(url)];
    stop.abort();
    await ended;
    return statuses;
  };
  assert.deepEqual(await run(), [200, 200]);
  assert.deepEqual(await run(), [200, 402], 'three cents each');
  assert.deepEqual(await run(), [402, 402]);
});

test('paths that cannot be metered are refused under any limit of money or tokens', async () => {
  for (const option of ['--max-tokens', '--max-spend', '--max-model-calls']) {
    const stop = new AbortController();
    const started = Promise.withResolvers<string>();
    const terminal = { out: started.resolve, err: () => {}, cwd: '/', env: {}, stopSignal: stop.signal };
    const upstream = ['--upstream', 'http://127.0.0.1:9'];
    const ended = main(['gateway', '--store', 'memory', '--port', '0', option, '10', ...upstream], terminal);
    const { status } = await fetch(`${await started.promise}/v1/messages/batches`, { method: 'POST', body: '{}' });
    assert.equal(status, option === '--max-model-calls' ? 502 : 402, option);
    stop.abort();
    await ended;
  }
});

test('a gateway that is started again goes on with what a key without a task has spent', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-gateway-'));
  const mock = createServer((_, response) => sendJson(response, messageOf('hi', 10_000, 100)));
  await new Promise<void>((resolve) => mock.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    mock.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const upstream = `http://127.0.0.1:${(mock.address() as AddressInfo).port}`;
  const store = `sqlite:${join(folder, 'gear.db')}`;
  const body = JSON.stringify({ model: sonnet, max_tokens: 100, messages: [] });
  const statuses = [];
  for (const key of ['one', 'one', 'one', 'two']) {
    const stop = new AbortController();
    const started = Promise.withResolvers<string>();
    const terminal = {
      out: started.resolve,
      err: () => {},
      cwd: folder,
      env: { HOME: folder },
      stopSignal: stop.signal,
    };
    const ended = main(
      ['gateway', '--store', store, '--port', '0', '--max-spend', '0.06', '--upstream', upstream],
      terminal,
    );
    const sent = { method: 'POST', body, headers: { 'x-api-key': key } };
    statuses.push((await fetch(`${await started.promise}/v1/messages`, sent)).status);
    stop.abort();
    await ended;
  }
  assert.deepEqual(statuses, [200, 200, 402, 200], 'three cents each');
});

test('keys are added, listed without their secrets, used, and removed', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-gateway-'));
  const received: (string | undefined)[] = [];
  const mock = createServer((request, response) => {
    received.push(request.headers['x-api-key'] as string | undefined);
    sendJson(response, messageOf('hi', 10, 10));
  });
  await new Promise<void>((resolve) => mock.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    mock.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const policy = join(folder, 'policy.toml');
  const upstream = `name = "own"\nurl = "http://127.0.0.1:${(mock.address() as AddressInfo).port}"`;
  writeFileSync(policy, `[[upstreams]]\n${upstream}\nkey_env = "PROVIDER_KEY"\n`);
  const place = { cwd: folder, env: { HOME: folder, PROVIDER_KEY: 'sk-provider' } };
  const store = ['--store', `sqlite:${join(folder, 'gear.db')}`];
  const run = async (...args: string[]) => {
    const lines: string[] = [];
    const code = await main(['gateway', 'key', ...args, ...store], {
      ...place,
      out: (line) => lines.push(line),
      err: (line) => lines.push(line),
    });
    return `${code} ${lines.join('\n')}`;
  };
  assert.equal(await run('list'), '0 No keys.');
  const rates = ['--requests-per-minute', '60', '--tokens-per-minute', '100000'];
  const added = await run('add', 'ann', '--budget', '$20/day', '--models', 'claude-*', ...rates);
  const key = /sk-switchgear-ann\.[\w-]{43}/.exec(added)?.[0] ?? '';
  assert.match(await run('add', 'ann'), /the key "?ann"? exists|exists: remove it first/);
  const listed = await run('list');
  assert.match(listed, /ann +added by .* \$20\.00\/day, 60 requests\/minute, 100000 tokens\/minute, claude-\*$/m);
  assert.ok(!listed.includes(key.slice(20)) && !(await run('list', '--json')).includes('hash'));
  const stop = new AbortController();
  const started = Promise.withResolvers<string>();
  const terminal = { out: started.resolve, err: () => {}, ...place, stopSignal: stop.signal };
  const ended = main(['gateway', ...store, '--port', '0', '--policy', policy], terminal);
  const url = await started.promise;
  const body = JSON.stringify({ model: sonnet, max_tokens: 100, messages: [] });
  const post = async (text: string) =>
    (await fetch(`${url}/v1/messages`, { method: 'POST', body, headers: { 'x-api-key': text } })).status;
  assert.deepEqual([await post(key), await post('other')], [200, 401]);
  assert.equal(await run('remove', 'ann'), '0 removed ann');
  assert.deepEqual([await post(key), await post('other')], [401, 200]);
  assert.deepEqual(received, ['sk-provider', 'sk-provider']);
  stop.abort();
  await ended;
});
