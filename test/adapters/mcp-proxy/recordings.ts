/** Plays the program of a generation, directly or through the proxy in any mix, and records what each end sends. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Endpoint, type GenerationName, generations, proxied, servers } from './sessions.ts';
import { type Exchange, listMessages, startTap } from './tap.ts';

export type Transport = 'stdio' | 'HTTP';

/** What one end of the way has sent and received. */
export interface Side {
  /** The messages, in the order of their beginning. */
  readonly sent: readonly string[];
  readonly received: readonly string[];
  /** All bytes, where the side speaks stdio. */
  readonly bytes?: { readonly sent: string; readonly received: string };
  /** All requests, where the side speaks HTTP. */
  readonly exchanges?: readonly Exchange[];
}

export interface Recording {
  readonly client: Side;
  /** Absent without the proxy. */
  readonly server: Side | undefined;
  /** What the program of the client has seen. */
  readonly seen: readonly string[];
}

interface Started {
  /** Where the client finds it. */
  readonly end: Endpoint;
  readonly readClient: () => Side;
  readonly readServer?: () => Side;
}

const tee = fileURLToPath(new URL('./tee.ts', import.meta.url));

/** Records a session with a server behind nothing but a recorder. */
export function recordDirectly(name: GenerationName, folder: string, transport: Transport): Promise<Recording> {
  return new Stage(folder, `${name}-direct-${transport}`).record(name, transport, undefined);
}

export function recordThrough(name: GenerationName, folder: string, client: Transport, server: Transport) {
  return new Stage(folder, `${name}-${client}-${server}`).record(name, client, server);
}

/** The processes of one session. */
export class Stage {
  readonly #folder: string;
  readonly #env: Record<string, string>;
  readonly #children: ChildProcess[] = [];
  readonly #closing: (() => void)[] = [];
  readonly #options: readonly string[];

  /** @param policy The policy of the proxy. */
  constructor(folder: string, name: string, policy?: string) {
    this.#folder = join(folder, name.replaceAll(/[^\w.]+/g, '-'));
    rmSync(this.#folder, { recursive: true, force: true });
    mkdirSync(this.#folder, { recursive: true });
    this.#env = { PATH: process.env.PATH ?? '', HOME: this.#folder };
    if (policy !== undefined) writeFileSync(join(this.#folder, 'policy.toml'), policy);
    this.#options = policy === undefined ? [] : ['--policy', join(this.#folder, 'policy.toml')];
  }

  async record(name: GenerationName, transport: Transport, behind: Transport | undefined): Promise<Recording> {
    const { server, connect, program } = generations[name];
    try {
      const { end, readClient, readServer } = await this.start(server, transport, behind);
      const session = await connect(end);
      await program(session);
      await session.close();
      await this.stop();
      return { client: readClient(), server: readServer?.(), seen: session.seen };
    } finally {
      await this.stop();
    }
  }

  /**
   * Starts a server, and the proxy in front of it.
   * @param transport How a client reaches it.
   * @param behind How the proxy reaches the server; undefined without the proxy.
   */
  async start(name: keyof typeof servers, transport: Transport, behind?: Transport): Promise<Started> {
    const [near, readServer] = await this.#startServer(name, behind ?? transport);
    if (behind === undefined) return { end: near, readClient: readServer };
    const [end, readClient] = await this.#startProxy(near, transport);
    return { end, readClient, readServer };
  }

  /** Starts a server behind a recorder; returns where it is, and reads the recording. */
  async #startServer(name: keyof typeof servers, transport: Transport): Promise<readonly [Endpoint, () => Side]> {
    if (transport === 'stdio') return this.#tee('server', servers[name]);
    const socketPath = join(this.#folder, 'server.sock');
    const [program = '', ...args] = servers[name].map((word) => (word === 'stdio' ? 'streamableHttp' : word));
    this.#spawn(program, args, { PORT: socketPath }, 'ignore');
    while (!(await canConnect(socketPath))) await new Promise((resolve) => setTimeout(resolve, 20));
    return this.#tap({ socketPath });
  }

  async #startProxy(near: Endpoint, transport: Transport): Promise<readonly [Endpoint, () => Side]> {
    const behind = near instanceof URL ? ['--url', near.href] : ['--', ...near.command];
    if (transport === 'stdio') return this.#tee('client', proxied(this.#folder, [...this.#options, ...behind]));
    const [program = '', ...args] = proxied(this.#folder, [...this.#options, '--listen', '0', ...behind]);
    const child = this.#spawn(program, args, {}, 'pipe');
    const url = await new Promise<string>((resolve, reject) => {
      let text = '';
      child.stderr!.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        const [, found] = /listening on (\S+)/.exec(text) ?? [];
        if (found !== undefined) resolve(found);
      });
      child.once('exit', () => reject(new Error(`the proxy ended: ${text}`)));
    });
    return this.#tap({ url });
  }

  #tee(side: string, command: readonly string[]): readonly [Endpoint, () => Side] {
    const file = join(this.#folder, side);
    const read = (end: string) => readFileSync(`${file}.${end}`, 'utf8');
    const readSide = () => {
      const bytes = { sent: read('in'), received: read('out') };
      return { bytes, sent: splitLines(bytes.sent), received: splitLines(bytes.received) };
    };
    return [{ command: [process.execPath, tee, file, ...command], env: this.#env }, readSide];
  }

  async #tap(target: Parameters<typeof startTap>[0]): Promise<readonly [Endpoint, () => Side]> {
    const { url, exchanges, close } = await startTap(target);
    this.#closing.push(close);
    const readSide = () => ({
      exchanges,
      sent: listMessages(exchanges, 'client'),
      received: listMessages(exchanges, 'server'),
    });
    return [new URL(url), readSide];
  }

  #spawn(program: string, args: readonly string[], more: Record<string, string>, stderr: 'ignore' | 'pipe') {
    const env = { ...this.#env, ...more };
    const child = spawn(program, args, { cwd: this.#folder, env, stdio: ['ignore', 'ignore', stderr] });
    this.#children.push(child);
    return child;
  }

  async stop(): Promise<void> {
    for (const close of this.#closing.splice(0)) close();
    for (const child of this.#children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
  }
}

/** Whether somebody listens; the file of a socket is there a moment before. */
function canConnect(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

function splitLines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}
