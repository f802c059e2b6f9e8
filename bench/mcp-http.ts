/**
 * Calls per second of HTTP clients in front of a stdio server: through `switchgear mcp --listen` with all controls on
 * a SQLite file, and through `mcp-proxy` and `supergateway`, which are installed in a temporary folder. All in one run,
 * in turns: `npm run bench:mcp-http [BIN]`.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-mcp-http-bench-'));
const bin = process.argv[2] ?? fileURLToPath(new URL('../bin/switchgear.cjs', import.meta.url));

/** A server that answers every request with a short text. */
const serverFile = join(folder, 'server.cjs');
writeFileSync(
  serverFile,
  `let rest = '';
const tools = {};
process.stdin.on('data', (chunk) => {
  rest += chunk;
  if (!chunk.includes(10)) return;
  let out = '';
  for (let end = rest.indexOf('\\n'); end !== -1; end = rest.indexOf('\\n')) {
    const { id, method, params } = JSON.parse(rest.slice(0, end));
    rest = rest.slice(end + 1);
    const result = method === 'initialize'
      ? { protocolVersion: params.protocolVersion, capabilities: { tools }, serverInfo: { name: 's', version: '1' } }
      : { content: [{ type: 'text', text: 'answer ' + id }] };
    if (id !== undefined) out += JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n';
  }
  if (out !== '') process.stdout.write(out);
});`,
);

const versions = ['mcp-proxy@6.7.19', 'supergateway@4.0.0'];
const script = (name: string, file: string) => join(folder, 'node_modules', name, file);
const command = [process.execPath, serverFile];
const bridges: Readonly<Record<string, (port: number) => readonly string[]>> = {
  switchgear: (port) => [
    ...[bin, 'mcp', '--store', `sqlite:${join(folder, 'state.db')}`, '--listen', String(port), '--', ...command],
  ],
  'mcp-proxy': (port) => [
    ...[script('mcp-proxy', 'dist/bin/mcp-proxy.mjs'), '--port', String(port), '--host', '127.0.0.1'],
    ...['--server', 'stream', '--', ...command],
  ],
  supergateway: (port) => [
    ...[script('supergateway', 'dist/index.js'), '--stdio', command.join(' '), '--outputTransport', 'streamableHttp'],
    ...['--stateful', '--port', String(port), '--logLevel', 'none'],
  ],
};

/** A connection that is used again and again, with little work of its own: the client must not hide the bridges. */
class Connection {
  readonly #socket: Socket;
  readonly #port: number;
  #text = '';
  #done: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;

  constructor(port: number) {
    this.#port = port;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1').on('data', (part: string) => this.#read(part));
    this.#socket.on('error', (error) => this.#done?.reject(error));
    this.#socket.on('close', () => this.#done?.reject(new Error('closed')));
  }

  post(frame: object, session?: string): Promise<Answer> {
    const body = JSON.stringify({ jsonrpc: '2.0', ...frame });
    const own = session === undefined ? '' : `mcp-session-id: ${session}\r\nmcp-protocol-version: 2025-06-18\r\n`;
    this.#socket.write(
      `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${this.#port}\r\ncontent-type: application/json\r\n` +
        `accept: application/json, text/event-stream\r\n${own}content-length: ${body.length}\r\n\r\n${body}`,
    );
    return new Promise((resolve, reject) => {
      this.#done = { resolve, reject };
    });
  }

  close(): void {
    this.#done = undefined;
    this.#socket.destroy();
  }

  #read(part: string): void {
    this.#text += part;
    const end = this.#text.indexOf('\r\n\r\n');
    if (end === -1) return;
    const head = this.#text.slice(0, end);
    const body = this.#text.slice(end + 4);
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    const isWhole = length === undefined ? body.endsWith('0\r\n\r\n') : body.length >= Number(length);
    if (!isWhole && !head.startsWith('HTTP/1.1 202')) return;
    this.#text = '';
    this.#done?.resolve({ session: /mcp-session-id: (\S+)/i.exec(head)?.[1] ?? '', text: body });
  }
}

interface Answer {
  readonly session: string;
  readonly text: string;
}

/** Begins a session as soon as the bridge listens. */
async function begin(port: number): Promise<string> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } };
  for (let attempt = 0; ; attempt++) {
    const connection = new Connection(port);
    try {
      const { session } = await connection.post({ id: 0, method: 'initialize', params });
      await connection.post({ method: 'notifications/initialized' }, session);
      connection.close();
      return session;
    } catch (error) {
      if (attempt > 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

let peakMb = 0;

/** Notes the largest memory that the process has used, where the system tells. */
function notePeak(pid: number): void {
  if (process.platform !== 'linux') return;
  const [, kb = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  peakMb = Math.max(peakMb, Number(kb) / 1000);
}

/** Sends long messages at once; returns how many were answered, and how many were told to come later. */
async function measureLong(port: number): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: folder };
  const child = spawn(process.execPath, [...bridges.switchgear!(port)], { cwd: folder, env, stdio: 'ignore' });
  try {
    const session = await begin(port);
    const text = 'x'.repeat(15_000_000);
    const connections = Array.from({ length: 8 }, () => new Connection(port));
    const answers = await Promise.all(
      connections.map((each, id) =>
        each.post({ id, method: 'tools/call', params: { name: 'tool', arguments: { text } } }, session),
      ),
    );
    for (const each of connections) each.close();
    peakMb = 0;
    notePeak(child.pid!);
    return `8 calls of 15 MB at once: ${answers.filter((each) => each.text.includes('answer ')).length} answered`;
  } finally {
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
  }
}

async function measure(name: string, port: number, inFlight: number, calls: number): Promise<number> {
  const env = { PATH: process.env.PATH, HOME: folder };
  const child: ChildProcess = spawn(process.execPath, [...bridges[name]!(port)], { cwd: folder, env, stdio: 'ignore' });
  try {
    const session = await begin(port);
    let ids = 0;
    const connections = Array.from({ length: inFlight }, () => new Connection(port));
    const work = async (connection: Connection, count: number) => {
      for (let n = 0; n < count; n++) {
        const id = ++ids;
        const params = { name: 'tool', arguments: { n: id, text: 'x'.repeat(200) } };
        const { text } = await connection.post({ id, method: 'tools/call', params }, session);
        // mcp-proxy gives the requests ids of its own.
        if (!text.includes('answer ') || text.includes('isError')) throw new Error(`${name}: ${text.slice(0, 500)}`);
      }
    };
    const run = (count: number) => Promise.all(connections.map((each) => work(each, count / inFlight)));
    await run(640);
    const began = performance.now();
    await run(calls);
    const rate = (1000 * calls) / (performance.now() - began);
    for (const each of connections) each.close();
    if (name === 'switchgear') notePeak(child.pid!);
    return rate;
  } finally {
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
  }
}

const median = (values: readonly number[]) => values.toSorted((one, other) => one - other)[values.length >> 1]!;

const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-save', '--prefix', folder];
if (spawnSync('npm', ['install', ...flags, ...versions], { stdio: 'inherit' }).status !== 0) process.exit(1);
const names = Object.keys(bridges);
console.log(`| in flight | ${names.map((name) => `${name} calls/s`).join(' | ')} | ratio to the better one |`);
console.log(`| --- | ${names.map(() => '---').join(' | ')} | --- |`);
let port = 20_000 + (process.pid % 20_000);
for (const [inFlight, calls] of [
  [1, 1_600],
  [16, 6_400],
] as const) {
  const measured = new Map<string, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < 3; round++)
    for (const name of names) measured.get(name)!.push(await measure(name, ++port, inFlight, calls));
  const [own = 0, ...others] = names.map((name) => median(measured.get(name)!));
  const cells = [inFlight, ...[own, ...others].map((each) => each.toFixed(0)), (own / Math.max(...others)).toFixed(2)];
  console.log(`| ${cells.join(' | ')} |`);
}
console.log(`\nmemory of switchgear: ${peakMb.toFixed(0)} MB after the calls`);
console.log(`${await measureLong(++port)}, ${peakMb.toFixed(0)} MB`);
rmSync(folder, { recursive: true, force: true });
