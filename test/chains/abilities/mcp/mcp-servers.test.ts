/** Abilities of MCP servers: real processes, the real SDK, and an older server without it. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createMcpHandler } from '@modelcontextprotocol/server';
import type { AbilitySource } from '../../../../src/chains/abilities/ability.ts';
import { mcpAbilities } from '../../../../src/chains/abilities/mcp/index.ts';
import { classifyError } from '../../../../src/core/classify.ts';
import { defaultBreaker } from '../../../../src/core/controls/breaker/defaults.ts';
import { compiled } from '../../../harness/compiled.ts';
import { call, gone, isAlive } from '../call-ability.ts';
import { toolServer } from './tool-server.ts';

/** What stands in a configuration for a variable. */
const variable = (name: string) => `\${${name}}`;
const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const server = (...args: readonly string[]) => ({
  command: process.execPath,
  args: [file('tool-server.ts'), ...args],
  env: compiled,
});

function sourceOf(context: TestContext, servers: object, more: object = {}): AbilitySource {
  const source = mcpAbilities({ mcpServers: servers }, more);
  context.after(() => source.close());
  return source;
}

const outputs: readonly (readonly [tool: string, output: unknown])[] = [
  ['json', { price: 12.5 }],
  ['digits', '12345678901234567890'],
  ['words', 'one\ntwo'],
  ['structured', { n: 1 }],
  [
    'picture',
    [
      { type: 'text', text: 'see' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    ],
  ],
  ['nothing', null],
];

const mcpFile = new URL('../../../../src/chains/abilities/mcp/index.ts', import.meta.url);

test('a tool result becomes an output: structured content, JSON, text, or raw content', async (context) => {
  const source = sourceOf(context, { t: server() });
  for (const [tool, output] of outputs) assert.deepEqual(await call(source, `t.${tool}`), output, tool);
});

test('an error of a tool is a failure that a breaker counts', async (context) => {
  const source = sourceOf(context, { t: server() });
  const failed = await call(source, 't.fail').catch((error: unknown) => error);
  assert.equal((failed as Error).message, 't.fail failed: out of stock');
  const outcome = classifyError(failed, defaultBreaker, 0, () => 0);
  assert.deepEqual([outcome.kind, 'error' in outcome && outcome.error], ['failure', 'ToolError']);
});

test('an output over the size limit is a failure', async (context) => {
  const source = sourceOf(context, { t: server() });
  await assert.rejects(call(source, 't.large'), /t\.large returned 2000002 bytes; an output may have at most/);
  assert.equal(await call(source, 't.words'), 'one\ntwo');
});

test('a message over the size limit ends the server, and the error says so', async (context) => {
  const source = sourceOf(context, { t: server() });
  await assert.rejects(
    call(source, 't.huge'),
    /^NetworkError: the MCP server "t" ended while it did huge \(it sent a message of more than 8388608 bytes\)$/,
  );
  assert.deepEqual(await call(source, 't.json'), { price: 12.5 }, 'the next call starts it again');
});

test('the longest matching server name provides an ability, and an unknown one is not found', async (context) => {
  const source = sourceOf(context, { t: server(), 't.echo': server() });
  assert.deepEqual(await source.names(), ['t.…', 't.echo.…']);
  assert.equal(await source.find('t.echo.args'), undefined); // The tool `args` of `t.echo`, which is not there.
  assert.deepEqual(await call(sourceOf(context, { t: server() }), 't.echo.args', { a: [1] }), { a: [1] });
  for (const name of ['t', 't.', 'u.json', 't.toString']) assert.equal(await source.find(name), undefined, name);
  assert.ok((await source.names()).includes('t.json'));
});

test('a server starts on first use, once, in its folder and with its environment', async (context) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'switchgear-mcp-')));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const starts = join(folder, 'starts');
  const config = {
    ...server(),
    cwd: '.',
    env: { STARTS: `${variable('FOLDER')}/starts`, TOKEN: variable('env:KEY:-none') },
  };
  const env = { PATH: process.env.PATH, SECRET: 'x', FOLDER: folder };
  const source = sourceOf(context, { t: config, other: server('broken') }, { cwd: folder, env });
  assert.throws(() => readFileSync(starts), /ENOENT/);
  const [one, other] = await Promise.all([call(source, 't.pid'), call(source, 't.pid')]);
  assert.deepEqual(one, other);
  assert.equal((one as { cwd: string }).cwd, folder);
  const { names, TOKEN } = (await call(source, 't.environment')) as { names: readonly string[]; TOKEN: string };
  assert.deepEqual(
    [...names.filter((name) => !name.startsWith('SWITCHGEAR_MARK_')), TOKEN],
    ['PATH', 'STARTS', 'TOKEN', 'none'],
  );
  assert.equal(readFileSync(starts, 'utf8').split('\n').length, 2);
});

test('a server that dies during a call fails it with the reason, and restarts for the next call', async (context) => {
  const lines: string[] = [];
  const source = sourceOf(
    context,
    { t: server() },
    { onStderr: (name: string, line: string) => lines.push(`${name}: ${line}`) },
  );
  const before = (await call(source, 't.pid')) as { pid: number };
  await assert.rejects(
    call(source, 't.die'),
    /^NetworkError: the MCP server "t" ended while it did die \(exit code 3: no more memory\)$/,
  );
  const after = (await call(source, 't.pid')) as { pid: number };
  assert.notEqual(after.pid, before.pid);
  assert.deepEqual(lines, ['t: first the cause', 't: no more memory']);
});

test('a server that cannot start fails the call, with its last stderr line', async (context) => {
  const source = sourceOf(context, {
    broken: server('broken'),
    absent: { command: 'no-such-program' },
    crashed: { command: process.execPath, args: ['-e', 'require("no-such-package")'] },
    unset: { command: 'x', args: [variable('NO_SUCH_VARIABLE')] },
  });
  await assert.rejects(call(source, 'broken.json'), {
    message: 'the MCP server "broken" did not start: exit code 7: the key is missing',
  });
  await assert.rejects(
    call(source, 'crashed.x'),
    /did not start: exit code 1: Error: Cannot find module 'no-such-pack/,
  );
  await assert.rejects(call(source, 'absent.x'), /"absent" cannot be started: no command no-such-program/);
  await assert.rejects(call(source, 'unset.x'), /\$\{NO_SUCH_VARIABLE\} is not set in the environment/);
});

test('servers with only an older or only the newest protocol version are both reached', async (context) => {
  const old = { command: process.execPath, args: [file('legacy-server.ts')] };
  const source = sourceOf(context, { old, modern: server('modern') });
  assert.deepEqual(await call(source, 'old.echo', { a: 1 }), { a: 1 });
  assert.deepEqual(await call(source, 'modern.json'), { price: 12.5 });
});

test('lines that are not messages are skipped', async (context) => {
  assert.deepEqual(await call(sourceOf(context, { t: server('chatty') }), 't.json'), { price: 12.5 });
});

test('an aborted call ends at once with its reason, and the server keeps running', async (context) => {
  const source = sourceOf(context, { t: server() });
  const before = await call(source, 't.pid');
  const cut = new AbortController();
  const hanging = call(source, 't.hang', {}, cut.signal);
  setImmediate(() => cut.abort(new Error('enough')));
  await assert.rejects(hanging, /^Error: enough$/);
  assert.deepEqual(await call(source, 't.pid'), before);
});

test('closing ends a server with its child processes, even if it ignores SIGTERM', { timeout: 30_000 }, async () => {
  const source = mcpAbilities({ mcpServers: { t: server(), deaf: server('deaf') } });
  const pids = await Promise.all(
    ['t.pid', 't.child', 'deaf.pid'].map(async (name) => ((await call(source, name)) as { pid: number }).pid),
  );
  assert.deepEqual(pids.map(isAlive), [true, true, true]);
  await source.close();
  for (const pid of pids) assert.ok(await gone(pid));
  await assert.rejects(call(source, 't.pid'), /the MCP servers of these abilities were closed/);
});

test('a program that crashes leaves no server behind', { timeout: 30_000 }, async () => {
  const program = `
    import { mcpAbilities } from ${JSON.stringify(mcpFile.href)};
    const source = mcpAbilities(${JSON.stringify({ mcpServers: { deaf: server('deaf') } })});
    const { run } = await source.find('deaf.pid');
    const call = { name: 'deaf.pid', args: {}, signal: new AbortController().signal, attemptKey: 'k' };
    console.log((await run(call)).pid);
    throw new Error('crash');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  await once(child, 'close');
  assert.match(said, /^\d+\n$/);
  assert.ok(await gone(Number(said)));
});

/** The tools behind a URL; `first` may answer a request itself, and says so. */
async function toolsAtUrl(
  context: TestContext,
  first: (request: IncomingMessage, body: Buffer, response: ServerResponse) => boolean,
): Promise<string> {
  const handler = createMcpHandler(() => toolServer());
  const web = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (first(request, body, response)) return;
    const init = { method: request.method ?? 'GET', headers: request.headers as Record<string, string> };
    const asked = new Request(`http://127.0.0.1${request.url}`, { ...init, ...(body.length > 0 && { body }) });
    const answer = await handler.fetch(asked);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  context.after(() => web.close());
  return `http://127.0.0.1:${(web.address() as AddressInfo).port}/mcp`;
}

test('a server behind a URL gets its headers, and its failures count as network errors', async (context) => {
  const tokens = new Set<string | undefined>();
  let isDown = false;
  const url = await toolsAtUrl(context, (request, _, response) => {
    tokens.add(request.headers.authorization);
    if (isDown) response.writeHead(503).end('down');
    return isDown;
  });
  const source = sourceOf(
    context,
    { web: { url, headers: { Authorization: `Bearer ${variable('KEY')}` } } },
    { env: { KEY: 'k1' } },
  );
  assert.deepEqual(await call(source, 'web.json'), { price: 12.5 });
  assert.deepEqual([...tokens], ['Bearer k1']);
  const ability = await source.find('web.json');
  isDown = true;
  await assert.rejects(call(source, 'web.json'), { code: 'ability_unavailable' });
  const run = { name: 'web.json', args: {}, signal: new AbortController().signal, attemptKey: 'k' };
  const down = await ability?.run(run).catch((error: unknown) => error);
  assert.equal((classifyError(down, defaultBreaker, 0, () => 0) as { error: string }).error, 'NetworkError');
  isDown = false;
  assert.deepEqual(await call(source, 'web.json'), { price: 12.5 });
});

for (const type of ['application/json', 'text/event-stream']) {
  test(`a server behind a URL that answers without an end is cut off: ${type}`, {
    timeout: 60_000,
  }, async (context) => {
    const left = Promise.withResolvers<void>();
    const url = await toolsAtUrl(context, (_, body, response) => {
      if (!body.includes('"tools/call"')) return false;
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.writeHead(200, { 'content-type': type }).on('drain', more).once('close', left.resolve);
      more();
      return true;
    });
    await assert.rejects(
      call(sourceOf(context, { web: { url } }), 'web.json'),
      /^NetworkError: the MCP server "web" ended while it did json \(it sent a message of more than 8388608 bytes\)$/,
    );
    await left.promise;
  });
}

const wrong: readonly (readonly [config: unknown, message: RegExp])[] = [
  [null, /the MCP configuration must be a table, got null/],
  [{}, /mcpServers must be a table, got undefined/],
  [{ mcpServers: { a: {} } }, /mcpServers\.a needs either command or url/],
  [{ mcpServers: { a: { command: 'x', url: 'y' } } }, /mcpServers\.a needs either command or url/],
  [{ mcpServers: { a: { command: 'x', args: 'y' } } }, /mcpServers\.a\.args must be a list, got "y"/],
  [{ mcpServers: { a: { command: 'x', env: { N: 1 } } } }, /mcpServers\.a\.env\.N must be a text, got 1/],
  [{ mcpServers: { a: { url: 'x', type: 'stdio' } } }, /mcpServers\.a\.type must be "http" or "sse"/],
];

for (const [config, message] of wrong) {
  test(`${JSON.stringify(config)} is no configuration`, () => {
    assert.throws(() => mcpAbilities(config), { code: 'invalid_mcp_config', message });
  });
}

test('keys of other hosts are ignored, and a disabled server is not found', async (context) => {
  const source = sourceOf(context, {
    t: { ...server(), autoApprove: ['json'], type: 'stdio' },
    off: { ...server(), disabled: true },
  });
  assert.deepEqual(await call(source, 't.json'), { price: 12.5 });
  assert.equal(await source.find('off.json'), undefined);
});
