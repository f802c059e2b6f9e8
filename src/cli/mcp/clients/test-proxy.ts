/** Tests the proxy of a configured server: before a server of our own, whose tool fails every time. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { webhookTimeoutMs } from '../../../core/limits.ts';
import type { Terminal } from '../../command.ts';
import type { FoundProxy } from './server-entry.ts';

export interface ProxyTest {
  /** How many calls reached the server before the first refusal. */
  readonly reached: number;
  /** The call that was refused; undefined if none was. */
  readonly refusedAt: number | undefined;
  /** Why the proxy cannot judge calls, so that it refuses all of them. */
  readonly cannotJudge?: string;
  /** Why the test could not be made. */
  readonly problem: string | undefined;
}

/** The failures after which a breaker opens by default, and one call more. */
const callsMax = 6;

/** Calls a failing tool through the proxy, as its entry starts it but in a temporary store, until it is refused. */
export async function testProxy(proxy: FoundProxy, env: Terminal['env'], terminal: Terminal): Promise<ProxyTest> {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-doctor-'));
  const own = { SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}`, SWITCHGEAR_TASK: '', SWITCHGEAR_SESSION: '' };
  const [program = '', ...args] = [...proxy.program, ...withoutServer(proxy.options)];
  const server = ['--', process.execPath, '-e', `(${serveFailingTool})()`];
  const child = spawn(program, [...args, ...server], {
    cwd: terminal.cwd,
    env: { ...terminal.env, ...env, ...own },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: webhookTimeoutMs,
  });
  let problem: string | undefined;
  let stderr = '';
  child.on('error', ({ message }) => {
    problem = message;
  });
  child.stderr.on('data', (data: Buffer) => {
    stderr = (stderr + data.toString('utf8')).slice(-1_000);
  });
  child.stdin.on('error', () => undefined); // A proxy that ended says why on stderr.
  const closed = new Promise((resolve) => child.on('close', resolve));
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const refusedAt = await callUntilRefused(
      (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
      async () => ((await lines.next()) as { readonly value?: string }).value,
    );
    child.stdin.end();
    if (refusedAt === 'not judged') {
      await closed;
      const cannotJudge = stderr.trim().replace(/^switchgear: calls are refused: /, '');
      return { reached: 0, refusedAt: 1, cannotJudge, problem: undefined };
    }
    if (refusedAt !== undefined) return { reached: refusedAt - 1, refusedAt, problem: undefined };
    return { reached: callsMax, refusedAt, problem: undefined };
  } catch (error) {
    child.kill();
    await closed;
    return { reached: 0, refusedAt: undefined, problem: problem ?? (stderr.trim() || (error as Error).message) };
  } finally {
    child.stdin.end();
    await closed;
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Answer {
  readonly result?: {
    readonly content?: readonly { readonly text?: string }[];
    readonly isError?: boolean;
    /** Every refusal by a control has it. */
    readonly _meta?: { readonly switchgear?: object };
  };
}

/** Returns the number of the call that a control refused; undefined if all reached the server. */
async function callUntilRefused(
  send: (message: object) => void,
  read: () => Promise<string | undefined>,
): Promise<number | 'not judged' | undefined> {
  const ask = async (id: number, method: string, params: object): Promise<Answer> => {
    send({ id, method, params });
    for (;;) {
      const line = await read();
      if (line === undefined) throw new Error('the proxy ended before it answered');
      const answer = JSON.parse(line) as Answer & { readonly id?: unknown };
      if (answer.id === id) return answer;
    }
  };
  const clientInfo = { name: 'switchgear-doctor', version: '1' };
  await ask(0, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  send({ method: 'notifications/initialized' });
  for (let call = 1; call <= callsMax; call++) {
    // The loop control must not be the one that refuses.
    const { result } = await ask(call, 'tools/call', { name: 'fail', arguments: { call } });
    const isReached = result?.content?.[0]?.text === `failure ${call} of switchgear doctor`;
    if (!isReached) return result?._meta?.switchgear === undefined ? 'not judged' : call;
  }
  return undefined;
}

const serverOptions = ['--store', '--url', '--header', '--headers-from', '--config', '--server', '--listen'];

/** Options of a proxy that do not say where the server is, nor name a store. */
function withoutServer(options: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let at = 0; at < options.length; at++) {
    const option = options[at]!;
    const [name] = option.split('=');
    const isServer = serverOptions.includes(name!);
    if (!isServer) kept.push(option);
    else if (!option.includes('=')) at++;
  }
  return kept;
}

/** The whole program of the server; it must use nothing from outside of itself. */
function serveFailingTool(): void {
  let rest = '';
  process.stdin.on('data', (data) => {
    const lines = (rest + data).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) continue;
      const serverInfo = { name: 'switchgear-doctor', version: '1' };
      const hello = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo };
      const text = `failure ${params?.arguments?.call} of switchgear doctor`;
      const failure = { content: [{ type: 'text', text }], isError: true };
      const tools = [{ name: 'fail', inputSchema: { type: 'object' } }];
      const results: Record<string, object> = { initialize: hello, 'tools/list': { tools }, 'tools/call': failure };
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} })}\n`);
    }
  });
}
