/** Relays between a client on stdin and stdout and a server process. */

import type { Readable, Writable } from 'node:stream';
import { exitCodeOf, type ProcessExit } from '../supervisor/child.ts';
import { backlogBytesMax } from './limits.ts';
import { LineRelay } from './line-relay.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';
import { Session, type SessionPorts } from './session.ts';

export interface StdioProxyOptions {
  readonly command: readonly string[];
  /** The streams of the client. */
  readonly input: Readable;
  readonly output: Writable;
  readonly openJudge: SessionPorts['openJudge'];
  readonly onJudgeFailed: SessionPorts['onJudgeFailed'];
  /** Prints a line for a person. */
  readonly report: (line: string) => void;
  /** Aborts when this process must end; the reason is the name of a signal. */
  readonly stopSignal?: AbortSignal;
}

/** Runs the proxy until the client or the server is gone; returns the exit code. */
export async function runStdioProxy(options: StdioProxyOptions): Promise<number> {
  const { command, report } = options;
  const server = await startServerProcess(command);
  if ('error' in server) {
    const { code, message } = server.error;
    report(code === 'ENOENT' ? `command not found: ${JSON.stringify(command[0])}` : message);
    return code === 'ENOENT' ? 127 : 126;
  }
  return new StdioProxy(options, server).run();
}

class StdioProxy {
  readonly #options: StdioProxyOptions;
  readonly #server: ServerProcess;
  readonly #session: Session;
  readonly #toServer: LineRelay;
  readonly #toClient: LineRelay;
  #isClientGone = false;

  constructor(options: StdioProxyOptions, server: ServerProcess) {
    this.#options = options;
    this.#server = server;
    const { openJudge, onJudgeFailed } = options;
    this.#session = new Session({
      toClient: (line) => this.#answerClient(line),
      toServer: (line) => this.#toServer.inject(line),
      openJudge,
      onJudgeFailed,
    });
    this.#toServer = new LineRelay(server.input, this.#session.fromClient);
    this.#toClient = new LineRelay(options.output, this.#session.fromServer);
  }

  async run(): Promise<number> {
    const { input, output, stopSignal } = this.#options;
    const gone = Promise.withResolvers<'client'>();
    this.#connect(gone.resolve);
    const stopped = new Promise<'stopped'>((resolve) => {
      if (stopSignal?.aborted) resolve('stopped');
      stopSignal?.addEventListener('abort', () => resolve('stopped'), { once: true });
    });
    const first = await Promise.race([this.#server.ended, gone.promise, stopped]);
    const exit = first === 'client' || first === 'stopped' ? await this.#endServer(first) : first;
    input.removeAllListeners('data');
    input.pause();
    this.#toClient.breakOff();
    if (first === exit) this.#session.loseServer(describeEnd(exit));
    this.#session.loseClient();
    await flush(output);
    return exitCodeOf(exit);
  }

  /** Connects the streams, each read no faster than the other side takes it. */
  #connect(onClientGone: (who: 'client') => void): void {
    const { input, output } = this.#options;
    const { input: serverInput, output: serverOutput } = this.#server;
    input.on('data', (chunk: Buffer) => {
      this.#toServer.push(chunk);
      if (this.#toServer.isFull) input.pause();
    });
    serverInput.on('drain', () => {
      if (output.writableLength < backlogBytesMax) input.resume();
    });
    input.once('end', () => {
      this.#toServer.end();
      onClientGone('client');
    });
    input.once('error', () => onClientGone('client'));
    serverOutput.on('data', (chunk: Buffer) => {
      this.#toClient.push(chunk);
      if (this.#toClient.isFull) serverOutput.pause();
    });
    serverOutput.once('end', () => this.#toClient.end());
    output.on('drain', () => {
      serverOutput.resume();
      if (!serverInput.writableNeedDrain) input.resume();
    });
    output.once('error', () => {
      this.#isClientGone = true;
      onClientGone('client');
    });
  }

  /** Writes an own line to the client. While a slow client has many to read, none of its requests are read. */
  #answerClient(line: Buffer): void {
    if (this.#isClientGone) return;
    this.#toClient.inject(line);
    if (this.#options.output.writableLength > backlogBytesMax) this.#options.input.pause();
  }

  async #endServer(cause: 'client' | 'stopped'): Promise<ProcessExit> {
    const reason = this.#options.stopSignal?.reason as unknown;
    if (cause === 'client') await this.#server.end();
    else await this.#server.signal(reason === 'SIGINT' ? 'SIGINT' : 'SIGTERM');
    return this.#server.ended;
  }
}

/** The end of a server, for the model and the client. */
function describeEnd({ code, signal }: ProcessExit): string {
  return `The MCP server ended ${signal === null ? `with code ${code}` : `by ${signal}`} before it answered.`;
}

/** Waits until a stream has written everything, or is broken. */
function flush(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (output.destroyed) resolve();
    else output.write('', () => resolve());
  });
}
