/**
 * An agent with a shell whose only guard is the MCP proxy or the gateway: its commands must not answer its questions,
 * hand back its halted task, or loosen anything else.
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { redisStore } from '../../src/stores/redis/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { readGuardedAgents } from '../../src/supervisor/guarded-agents.ts';
import { createTestHomes, type TestHome } from '../cli/run/run-cli.ts';
import { collectOutput } from '../harness/child-output.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { serve } from '../server/server-setup.ts';
import { storePlace, testOn } from '../stores/both-stores.ts';
import { until } from '../supervisor/processes.ts';

const home = createTestHomes();
const { server: redis } = storePlace();
const clientFile = fileURLToPath(new URL('./proxied-client.ts', import.meta.url));
const serverFile = fileURLToPath(new URL('../cli/mcp/scripted-server.ts', import.meta.url));
const skip = process.platform !== 'linux' && 'the process of a connection is known on Linux only';

const policy = `
[[rules]]
condition = "ability:mcp__scripted__echo"
action = "confirm"
reason = "a person looks at echoes"
[[rules]]
condition = "ability:mcp__scripted__read_doc"
action = "abort"
reason = "documents are read by hand"
`;

interface Line {
  readonly command?: string;
  readonly code?: number;
  readonly text?: string;
  readonly result?: unknown;
}

/** Starts something that ends with the test. */
function follow(child: ChildProcess): ChildProcess {
  after(() => child.kill('SIGKILL'));
  return child;
}

/** Runs a client with a job, below the words of a command; returns what it printed. */
async function runClient(place: TestHome, job: object, around: readonly string[] = []): Promise<readonly Line[]> {
  const words = [...around, process.execPath, '--disable-warning=ExperimentalWarning', clientFile];
  const child = spawn(words[0]!, words.slice(1), {
    cwd: place.folder,
    env: { PATH: process.env.PATH, HOME: place.folder, SWITCHGEAR_STORE: place.store },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  follow(child);
  const { out, err } = collectOutput(child);
  child.stdin.end(JSON.stringify(job));
  await once(child, 'close');
  const lines = out().trim().split('\n');
  assert.ok(lines.length > 0 && lines[0] !== '', err());
  return lines.map((line) => JSON.parse(line) as Line);
}

function proxyCommand(place: TestHome, ...options: readonly string[]): readonly string[] {
  writeFileSync(join(place.folder, 'policy.toml'), policy);
  const own = [bin, 'mcp', '--name', 'scripted', '--policy', join(place.folder, 'policy.toml'), '--store', place.store];
  return [process.execPath, ...own, ...options, '--', process.execPath, serverFile];
}

const gear = `'${process.execPath}' '${bin}'`;
/** Waits for a card of some kind, and puts its id into a variable. */
const findCard = (kind: string) =>
  `id=; while [ -z "$id" ]; do id=$(${gear} inbox list --json | tr ',' '\\n' | ` +
  `grep -A1 '"kind": *"${kind}"\\|"id"' | sed -n 's/.*"id": *"\\([^"]*\\)".*/\\1/p' | head -1); sleep 0.05; done`;

const resetAtPty = `script -qec '${gear.replaceAll("'", '')} reset --all' /dev/null < /dev/null`;

const loosening = [
  `${findCard('ask')}; ${gear} inbox approve $id`,
  `${gear} reset --all`,
  `env -i PATH="$PATH" HOME="$HOME" SWITCHGEAR_STORE="$SWITCHGEAR_STORE" ${gear} reset --all`,
  `setsid ${gear} reset --all`,
  resetAtPty,
];

function assertRefused(lines: readonly Line[], where: string | RegExp): void {
  const commands = lines.filter(({ command }) => command !== undefined);
  assert.ok(commands.length > 0);
  for (const { command, code, text } of commands) {
    assert.equal(code, 1, `${command}: ${text}`);
    assert.match(text ?? '', /refused: this process belongs to/, command);
    assert.match(text ?? '', new RegExp(where), command);
  }
}

/** A program that starts another one with its own input. */
const launcher = `
const [program, ...args] = process.argv.slice(1);
const child = require('node:child_process').spawn(program, args, { stdio: 'inherit' });
child.on('exit', () => process.exit());
`;

/** A program that sends another one what it reads. */
const bridge = `${launcher.replace("'inherit'", "['pipe', 'inherit', 'inherit']")}; process.stdin.pipe(child.stdin);`;

/** A program that sends each line that it reads to a URL, and prints the answer. */
const remoteBridge = `
let session;
const input = require('node:readline').createInterface({ input: process.stdin });
input.on('close', () => process.exit());
input.on('line', async (body) => {
  const accept = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const headers = { ...accept, ...(session && { 'mcp-session-id': session }) };
  const answer = await fetch(process.argv[2], { method: 'POST', headers, body });
  session ??= answer.headers.get('mcp-session-id');
  const text = await answer.text();
  console.log(/^data: (\\{.*)$/m.exec(text)?.[1] ?? text);
});`;

const isAnswered = ({ result }: Line) => result !== undefined && result !== 'waits';

test('attack 02: the client of a proxy on stdio cannot approve its own question or reset a breaker', async () => {
  const ways: Record<string, (proxy: readonly string[], place: TestHome) => readonly string[]> = {
    directly: (proxy) => proxy,
    'by a shell': (proxy) => ['sh', '-c', `${proxy.map((word) => `'${word}'`).join(' ')}; exit`],
    'by a script': (proxy, place) => {
      const path = join(place.folder, 'start-proxy');
      writeFileSync(path, `#!/bin/sh\n${proxy.map((word) => `'${word}'`).join(' ')}\n`);
      chmodSync(path, 0o755);
      return [path];
    },
    'by npx': (proxy) => [process.execPath, '-e', `process.title = 'npm exec switchgear';${launcher}`, ...proxy],
    'by a launcher that is not known': (proxy) => [process.execPath, '-e', launcher, ...proxy],
    'by env': (proxy) => ['env', 'A=1', 'timeout', '60', ...proxy],
  };
  for (const [way, wrap] of Object.entries(ways)) {
    const place = home();
    const job = {
      api: 'mcp',
      proxy: wrap(proxyCommand(place), place),
      tools: ['echo'],
      commands: way === 'directly' ? loosening : loosening.slice(0, 1),
    };
    const lines = await runClient(place, job);
    assertRefused(lines, /shell-agent \(a client of the MCP proxy scripted\)/);
    assert.ok(!lines.some(isAnswered), `${way}: the call still waits`);
  }
});

test('attack 02: an agent CLI cannot approve its own question behind a bridge', async () => {
  const place = home();
  const cli = join(place.folder, 'claude');
  writeFileSync(cli, launcher.replace('slice(1)', 'slice(2)'));
  const proxy = [process.execPath, '-e', bridge, ...proxyCommand(place)];
  const job = { api: 'mcp', proxy, tools: ['echo'], commands: loosening.slice(0, 1) };
  const lines = await runClient(place, job, [process.execPath, cli]);
  assertRefused(lines, /shell-agent \(a client of the MCP proxy scripted\)/);
  assert.ok(!lines.some(isAnswered));
});

test('attack 02: the client of a proxy on stdio cannot hand back its own halted session', async () => {
  const place = home();
  const commands = [`${findCard('halt')}; ${gear} inbox replan $id`];
  const job = { api: 'mcp', proxy: proxyCommand(place), tools: ['read_doc', 'env'], commands };
  const lines = await runClient(place, job);
  assertRefused(lines, /a client of the MCP proxy scripted/);
  assert.match(JSON.stringify(lines.find(isAnswered)), /documents are read by hand/);
});

test('a person beside the client answers its question', async () => {
  const place = home();
  const store = sqliteStore({ path: place.store.slice('sqlite:'.length) });
  const inbox = await serve(store);
  const job = { api: 'mcp', proxy: proxyCommand(place), tools: ['echo'], commands: ['sleep 3'] };
  const running = runClient(place, job);
  const find = async () => (await inbox.send('GET', '/api/cards?kind=ask&state=open')).json.cards[0];
  let card = await find();
  for (; card === undefined; card = await find()) await sleep(50);
  const { agents } = await readGuardedAgents(store);
  assert.deepEqual(
    agents.map(({ by, name, id }) => [by, name, id]),
    [['mcp', 'shell-agent', 'scripted']],
  );
  const { status } = await inbox.send('POST', `/api/cards/${card.id}/answer`, { answer: 'approve' });
  assert.equal(status, 200);
  assert.match(JSON.stringify((await running).find(isAnswered)), /"name\\+":\\+"echo/);
  await inbox.close();
  store.close();
});

test('attack 02: in the application of a client a terminal types a code; all else is refused', async () => {
  const place = home();
  // The parts of an application on Electron say their kind by an option.
  const part = `sh -c 'exec "$@"' part '${process.execPath}' '${clientFile}' --type=utility`;
  const job = JSON.stringify({ api: 'mcp', proxy: proxyCommand(place), tools: ['echo'], commands: ['sleep 4'] });
  const application = [
    `printf '%s' "$JOB" | ${part} > part.log &`,
    `${findCard('ask')}`,
    `${gear} reset --all > plain.log 2>&1`,
    `${resetAtPty} > pty.log 2>&1`,
    'cat plain.log; echo ==; cat pty.log; wait',
  ].join('\n');
  const child = follow(
    spawn('sh', ['-c', application], {
      cwd: place.folder,
      env: { PATH: process.env.PATH, HOME: place.folder, SWITCHGEAR_STORE: place.store, JOB: job },
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const { out } = collectOutput(child as Parameters<typeof collectOutput>[0]);
  await once(child, 'close');
  const [plain = '', pty = ''] = out().split('==');
  assert.match(plain, /may have started this process, because it has no terminal; a person can run the command/);
  assert.match(pty, /An agent runs, and it runs in the application of an agent\.\s+Type \d{4} and press Enter/);
  assert.match(pty, /refused: the code was not typed/);
});

/** Starts a listener that prints its address. */
async function listen(place: TestHome, args: readonly string[]): Promise<string> {
  const child = follow(
    spawn(args[0]!, args.slice(1), {
      cwd: place.folder,
      env: { PATH: process.env.PATH, HOME: place.folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  const { out, err } = collectOutput(child as Parameters<typeof collectOutput>[0]);
  const find = () => /http:\/\/127\.0\.0\.1:\d+\S*/.exec(out() + err())?.[0];
  await until(() => find() !== undefined || child.exitCode !== null);
  return find() ?? assert.fail(err());
}

test('attack 02: a client of a listening proxy cannot approve its own question', { skip }, async () => {
  const place = home();
  const url = await listen(place, proxyCommand(place, '--listen', '0'));
  for (const round of ['the first client', 'a second one']) {
    const lines = await runClient(place, { api: 'mcp', url, tools: ['echo'], commands: loosening.slice(0, 2) });
    assertRefused(lines, /node \(a client of the MCP proxy scripted\)/);
    assert.ok(!lines.some(isAnswered), round);
  }
});

test('attack 02: a client that reaches a listening proxy by mcp-remote cannot approve its question', {
  skip,
}, async () => {
  const place = home();
  const remote = join(place.folder, 'mcp-remote');
  writeFileSync(remote, remoteBridge);
  const url = await listen(place, proxyCommand(place, '--listen', '0'));
  const proxy = ['sh', '-c', `'${process.execPath}' '${remote}' '${url}'; exit`];
  const lines = await runClient(place, { api: 'mcp', proxy, tools: ['echo'], commands: loosening.slice(0, 1) });
  assertRefused(lines, /a client of the MCP proxy scripted/);
  assert.ok(!lines.some(isAnswered));
});

/** A server whose tools run a command. */
const makeShellServer = (command: string) => `
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method !== 'tools/call') return answer(id, { ...params, serverInfo: { name: 'shell', version: '1' } });
  require('node:child_process').exec(${JSON.stringify(command)}, (_, out, err) =>
    answer(id, { content: [{ type: 'text', text: out + err }] }));
});`;

test('attack 02: the tools of a listening proxy cannot decide for its clients', { skip }, async () => {
  const wait = 'until [ -e done ]; do sleep 0.1; done; cat done';
  for (const command of [`${gear} reset --all`, resetAtPty]) {
    const place = home();
    const server = join(place.folder, 'server.cjs');
    writeFileSync(
      server,
      makeShellServer(`export SWITCHGEAR_STORE='${place.store}'; (${command}) > log 2>&1; mv log done`),
    );
    const words = [...proxyCommand(place, '--listen', '0').slice(0, -1), server].map((word) => `'${word}'`);
    // A person starts the proxy in a terminal.
    const url = await listen(place, ['script', '-qec', words.join(' '), '/dev/null']);
    const lines = await runClient(place, { api: 'mcp', url, tools: ['sh'], commands: [wait] });
    assert.match(JSON.stringify(lines), /refused: this process belongs to scripted \(the server of an MCP proxy\)/);
  }
});

async function openProvider(context: TestContext): Promise<string> {
  const usage = { prompt_tokens: 10_000_000, completion_tokens: 5, total_tokens: 10_000_005 };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }];
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: 'c', object: 'chat.completion', model: 'gpt-4o', choices, usage }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startGateway(place: TestHome, context: TestContext, ...options: readonly string[]): Promise<string> {
  const own = ['--port', '0', '--upstream', await openProvider(context), '--store', place.store];
  return listen(place, [process.execPath, bin, 'gateway', ...own, ...options]);
}

const modelCall = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hello' }], max_tokens: 10 });

test('a browser that opens the address of a gateway is no client', { skip }, async (context) => {
  const place = home();
  const url = await startGateway(place, context);
  const store = sqliteStore({ path: place.store.slice('sqlite:'.length) });
  await (await fetch(`${url}/v1/models`)).text();
  assert.deepEqual((await readGuardedAgents(store)).agents, []);
  await (await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: modelCall })).text();
  assert.deepEqual(
    (await readGuardedAgents(store)).agents.map(({ by }) => by),
    ['gateway'],
  );
  store.close();
});

test('attack 02: a script that sends its requests by curl cannot loosen anything', { skip }, async (context) => {
  const place = home();
  const url = await startGateway(place, context);
  const script = join(place.folder, 'agent.sh');
  writeFileSync(
    script,
    `answer=$(curl -s -d '${modelCall}' ${url}/v1/chat/completions)\n${gear} reset --all 2>&1\necho $answer\n`,
  );
  const env = { PATH: process.env.PATH, HOME: place.folder, SWITCHGEAR_STORE: place.store };
  const child = follow(spawn('sh', [script], { env, stdio: ['ignore', 'pipe', 'inherit'] }));
  const { out } = collectOutput(child as Parameters<typeof collectOutput>[0]);
  await once(child, 'close');
  assert.match(out(), /refused: this process belongs to \S+ \(a client of the gateway\)/);
  assert.match(out(), /"model": ?"gpt-4o"/);
});

const canMount = spawnSync('unshare', ['-rmT', 'true']).status === 0;

test('attack 02: a client cannot loosen anything in namespaces in which its process is another one', {
  skip: skip || (!canMount && 'the system allows no namespaces'),
}, async (context) => {
  const place = home();
  const url = await startGateway(place, context);
  const hideStart = 'echo other > start; mount --bind start /proc/sys/kernel/random/boot_id';
  const hideClient = `mount -t tmpfs none /proc/$client; ${gear} reset --all > left.log 2>&1; mv left.log left`;
  const commands = [
    `unshare -rmT --boottime 100000 --fork ${gear} reset --all`,
    `unshare -rmT --boottime 100000 --fork sh -c "${hideStart}; ${gear} reset --all"`,
    `unshare -rmpu --fork --mount-proc sh -c "hostname other; ${hideStart}; ${gear} reset --all"`,
    // A process that has left the tree hides the client from what it starts.
    `client=$PPID; setsid -f unshare -rm sh -c "${hideClient}"; until [ -e left ]; do sleep 0.1; done; cat left`,
  ];
  const lines = await runClient(place, { api: 'gateway', url, tools: ['gpt-4o'], commands });
  for (const { command, text } of lines.slice(0, commands.length))
    assert.match(text ?? '', /refused: an agent runs on this store and may have started this process/, command);
});

const kinds = {
  'in a file': (place: TestHome) => place.store,
  'in Redis': () => `${redis().url}?prefix=clients`,
};

for (const [kind, addressOf] of Object.entries(kinds)) {
  testOn(kind)(
    `attack 02: ${kind}: a client of the gateway cannot loosen anything by command`,
    { skip },
    async (context) => {
      const made = home();
      const place = { ...made, store: addressOf(made) };
      const url = await startGateway(place, context, '--max-spend', '$1');
      const commands = [...loosening.slice(1), `${gear} gateway key add mine --budget '$1000/day'`];
      const lines = await runClient(place, { api: 'gateway', url, tools: ['gpt-4o', 'gpt-4o'], commands });
      assertRefused(lines, /node \(a client of the gateway\)/);
      assert.match(JSON.stringify(lines.find(isAnswered)), /"status":402/);
    },
  );
}

testOn('in Redis')('a client that has ended guards nobody', async () => {
  const store = await redisStore({ url: redis().url, prefix: 'clients', graceMs: 0 });
  const { agents, hasRecords } = await readGuardedAgents(store);
  assert.deepEqual([agents, hasRecords], [[], true]);
  store.close();
});
