/**
 * A client of the MCP proxy or the gateway, as an agent with a shell: it makes calls, and runs commands as its own
 * children. Its standard input has one job as JSON; it prints one line of JSON for each command, and one for the calls.
 */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

interface Job {
  /** The command that starts the proxy, by stdio. */
  readonly proxy?: readonly string[];
  /** The address of a listener of the proxy, or of the gateway. */
  readonly url?: string;
  readonly api: 'mcp' | 'gateway';
  readonly tools: readonly string[];
  /** Commands of a shell, run while the last call may wait. */
  readonly commands: readonly string[];
}

const job = JSON.parse(readFileSync(0, 'utf8')) as Job;
const say = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);

function run(command: string): Promise<{ readonly code: number | null; readonly text: string }> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const part of [child.stdout, child.stderr]) part.on('data', (more) => (text += more));
    child.on('close', (code) => resolve({ code, text }));
  });
}

const clientInfo = { name: 'shell-agent', version: '1' };
const handshake = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };

/** Sends a request and resolves with its result. */
type Send = (method: string, params: object) => Promise<unknown>;

function connectByStdio([program = '', ...args]: readonly string[]): Send {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, (result: unknown) => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line);
    waiting.get(id)?.(result ?? error);
  });
  let ids = 0;
  return (method, params) =>
    new Promise((resolve) => {
      const id = ++ids;
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
}

function connectByHttp(url: string): Send {
  let session: string | undefined;
  let ids = 0;
  return async (method, params) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session }),
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++ids, method, params });
    const answer = await fetch(url, { method: 'POST', headers, body });
    session ??= answer.headers.get('mcp-session-id') ?? undefined;
    const text = await answer.text();
    const data = /^data: (\{.*)$/m.exec(text)?.[1] ?? text;
    return JSON.parse(data).result;
  };
}

function connectToModel(url: string): Send {
  return async (model) => {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], max_tokens: 10 });
    const answer = await fetch(`${url}/v1/chat/completions`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer k' }, body },
    });
    return { status: answer.status, text: await answer.text() };
  };
}

const send =
  job.api === 'gateway'
    ? connectToModel(job.url!)
    : job.proxy === undefined
      ? connectByHttp(job.url!)
      : connectByStdio(job.proxy);
if (job.api === 'mcp') await send('initialize', handshake);
const call = (name: string) => (job.api === 'mcp' ? send('tools/call', { name, arguments: { n: 1 } }) : send(name, {}));
const first = job.tools.slice(0, -1);
for (const tool of first) await call(tool);
const last = call(job.tools.at(-1)!);
for (const command of job.commands) say({ command, ...(await run(command)) });
say({ result: await Promise.race([last, new Promise((resolve) => setTimeout(resolve, 300, 'waits'))]) });
process.exit(0);
