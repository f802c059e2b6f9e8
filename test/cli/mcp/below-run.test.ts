/** A program below `switchgear run` that calls MCP servers through proxies: each call counts once, on the run. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { collectOutput } from '../../harness/child-output.ts';
import { compiled } from '../../harness/compiled.ts';
import { bin } from '../../harness/switchgear-bin.ts';
import { type RedisServer, startRedis, testWithRedis } from '../../redis-server.ts';
import { serverFile } from './proxy-process.ts';

/**
 * Calls a tool through two proxies in turn, which it starts with few variables, as the official clients do.
 */
const agent = `
import { spawn } from 'node:child_process';
const { store, log, calls, isSame, prints } = JSON.parse(process.argv[2]);
const env = { PATH: process.env.PATH, HOME: process.env.HOME, SCRIPTED_LOG: log, ...JSON.parse(process.argv[3]) };
const start = (name) => {
  const args = [${JSON.stringify(bin)}, 'mcp', '--store', store, '--name', name, '--'];
  const child = spawn(process.execPath, [...args, process.execPath, ${JSON.stringify(serverFile)}], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let rest = '';
  const waiting = [];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    rest += text;
    for (let end = rest.indexOf('\\n'); end !== -1; end = rest.indexOf('\\n')) {
      const message = JSON.parse(rest.slice(0, end));
      rest = rest.slice(end + 1);
      if (message.id !== undefined) waiting.shift()?.(message);
    }
  });
  const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  let id = 0;
  const request = (method, params) => new Promise((resolve) => {
    waiting.push(resolve);
    send({ id: ++id, method, params });
  });
  return { request, send, end: () => child.stdin.end() };
};
const proxies = [start('one'), start('two')];
const clientInfo = { name: 'program', version: '1' };
for (const proxy of proxies) {
  await proxy.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  proxy.send({ method: 'notifications/initialized' });
}
let done = 0;
for (let n = 0; n < calls; n++) {
  const input = { bytes: isSame ? 1 : n + 1 };
  if (prints) console.log(JSON.stringify({ type: 'tool_use', id: 'c' + n, name: 'mcp__one__big', input }));
  const { result } = await proxies[isSame ? 0 : n % 2].request('tools/call', { name: 'big', arguments: input });
  if (!result.isError) done++;
}
// A program that was refused calls waits for its end.
if (done < calls) await new Promise((resolve) => setTimeout(resolve, 20_000));
console.log('done=' + done + ';');
for (const proxy of proxies) proxy.end();
`;

let redis: RedisServer | undefined;
after(() => redis?.stop());

const kinds = {
  SQLite: { test, locate: async (folder: string) => `sqlite:${join(folder, 'state.db')}` },
  Redis: {
    test: testWithRedis,
    async locate() {
      redis ??= await startRedis();
      return redis.url;
    },
  },
};

interface Work {
  readonly calls: number;
  readonly isSame?: boolean;
  /** Whether the program prints its calls, so that the run reads them. */
  readonly prints?: boolean;
}

async function runProgram(context: TestContext, kind: keyof typeof kinds, options: readonly string[], work: Work) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-below-run-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'agent.mjs');
  writeFileSync(file, agent);
  const log = join(folder, 'server.log');
  writeFileSync(log, '');
  const store = await kinds[kind].locate(folder);
  const task = [JSON.stringify({ store, log, ...work }), JSON.stringify(compiled)];
  const args = ['run', '--no-ask', '--quiet', '--store', store, ...options, '--', process.execPath, file, ...task];
  const child = spawn(process.execPath, [bin, ...args], {
    cwd: folder,
    env: { ...compiled, PATH: process.env.PATH, HOME: folder },
  });
  const { out, err } = collectOutput(child);
  const status = await new Promise((resolve) => child.on('close', resolve));
  const reached = readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('call ')).length;
  return { status, reached, out: out(), err: err() };
}

for (const kind of ['SQLite', 'Redis'] as const) {
  const testOn = kinds[kind].test as typeof test;

  testOn(`${kind}: proxies of a program share the limit of calls of the run around it`, async (context) => {
    const { status, reached, err } = await runProgram(context, kind, ['--max-calls', '5'], { calls: 8 });
    assert.equal(reached, 5, err);
    assert.equal(status, 75, err);
    assert.match(err, /tool calls: [678] of 5/);
  });

  testOn(`${kind}: a program within the limit is left alone, also if it prints its calls`, async (context) => {
    for (const prints of kind === 'SQLite' ? [false, true] : [true]) {
      const { status, reached, out, err } = await runProgram(context, kind, ['--max-calls', '6'], { calls: 6, prints });
      assert.deepEqual([status, reached], [0, 6], `${out}\n${err}`);
    }
  });

  testOn(`${kind}: a loop through a proxy ends the run, with its reason`, async (context) => {
    const { status, reached, err } = await runProgram(context, kind, [], { calls: 40, isSame: true });
    assert.equal(status, 75, err);
    assert.ok(reached < 40, err);
    assert.match(err, /loop|same|repeat/i);
  });
}
