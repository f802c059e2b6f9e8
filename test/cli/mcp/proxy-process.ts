/** Starts `switchgear mcp` in front of a server, and speaks with it line by line. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiled } from '../../harness/compiled.ts';
import { bin as ownBin } from '../../harness/switchgear-bin.ts';

export type Frame = Readonly<Record<string, unknown>>;

export const serverFile = fileURLToPath(new URL('./scripted-server.ts', import.meta.url));

/** A program that starts another one, and sends it what it reads. */
const startProgram = `
const [program, ...args] = process.argv.slice(1);
const child = require('node:child_process').spawn(program, args, { stdio: ['pipe', 'inherit', 'inherit'] });
process.stdin.pipe(child.stdin);
child.stdin.on('error', () => {});
child.on('exit', (code, signal) => process.exit(code ?? 1));
`;

export interface ProxyPlace {
  readonly folder: string;
  readonly store: string;
  readonly log: string;
  clear(): void;
}

/** A folder with a store and a log of the server. */
export function createPlace(policy?: string): ProxyPlace {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-mcp-'));
  if (policy !== undefined) writeFileSync(join(folder, 'policy.toml'), policy);
  return {
    folder,
    store: `sqlite:${join(folder, 'state.db')}`,
    log: join(folder, 'server.log'),
    clear: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export interface ProxyOptions {
  readonly options?: readonly string[];
  readonly server?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether a program between starts it, so that this process is not its client and may decide as a person does. */
  readonly isBeside?: boolean;
  /** Whether the server is started alone, without the proxy. */
  readonly isDirect?: boolean;
  /** The command; tests of clauses give theirs, which their second run replaces. */
  readonly bin?: string;
}

export class ProxyProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<number | NodeJS.Signals>;
  /** All output, as it came. */
  readonly output: Buffer[] = [];
  stderr = '';
  #rest: Buffer[] = [];
  readonly #frames: Frame[] = [];
  #waiting: (() => void)[] = [];
  #ids = 0;

  constructor(
    place: ProxyPlace,
    { options = [], server = [], env = {}, isBeside = false, isDirect = false, bin = ownBin }: ProxyOptions = {},
  ) {
    const command = [process.execPath, serverFile, ...server];
    const own = [process.execPath, bin, 'mcp', '--store', place.store, '--name', 'scripted', ...options, '--'];
    const words = isDirect ? command : [...own, ...command];
    const [program = '', ...args] = isBeside ? [process.execPath, '-e', startProgram, ...words] : words;
    this.child = spawn(program, args, {
      cwd: place.folder,
      env: { ...compiled, PATH: process.env.PATH, HOME: place.folder, SCRIPTED_LOG: place.log, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.exited = once(this.child, 'close').then(([code, signal]) => code ?? signal);
    this.child.stdin?.on('error', () => undefined);
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.child.stdout?.on('data', (chunk: Buffer) => this.#read(chunk));
    void this.exited.then(() => this.#wake());
  }

  get frames(): readonly Frame[] {
    return this.#frames;
  }

  /** The lines of the server's log. */
  static readLog({ log }: ProxyPlace): readonly string[] {
    try {
      return readFileSync(log, 'utf8').trim().split('\n');
    } catch {
      return [];
    }
  }

  write(text: string | Buffer): void {
    this.child.stdin?.write(text);
  }

  send(frame: unknown): void {
    this.write(`${JSON.stringify(frame)}\n`);
  }

  end(): void {
    this.child.stdin?.end();
  }

  async request(method: string, params: object = {}): Promise<Frame> {
    const id = ++this.#ids;
    this.send({ jsonrpc: '2.0', id, method, params });
    return this.find((frame) => frame.id === id && frame.method === undefined);
  }

  async initialize(version = '2025-06-18'): Promise<Frame> {
    const clientInfo = { name: 'tester', version: '1' };
    const frame = await this.request('initialize', { protocolVersion: version, capabilities: {}, clientInfo });
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return frame;
  }

  async call(name: string, args: object = {}): Promise<ToolResult> {
    return (await this.request('tools/call', { name, arguments: args })).result as ToolResult;
  }

  /** Waits for a frame. */
  async find(isIt: (frame: Frame) => boolean): Promise<Frame> {
    for (let at = 0; ; ) {
      for (; at < this.#frames.length; at++) if (isIt(this.#frames[at]!)) return this.#frames[at]!;
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error(`the process ended without the frame; stderr: ${this.stderr}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #read(chunk: Buffer): void {
    this.output.push(chunk);
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(10, at);
      this.#rest.push(chunk.subarray(at, end === -1 ? chunk.length : end));
      if (end === -1) break;
      this.#keep(Buffer.concat(this.#rest.splice(0)).toString('utf8'));
      at = end + 1;
    }
    this.#wake();
  }

  #keep(line: string): void {
    try {
      this.#frames.push(JSON.parse(line) as Frame);
    } catch {
      this.#frames.push({ unparsed: line });
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}

/** Whether a process runs. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

/** Waits until something is so. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  for (let n = 0; n < 1_000; n++) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`waited in vain: ${what}`);
}
