/** Relays between a client of lines, as on stdin and stdout, and a server. */

import { PassThrough, type Writable } from 'node:stream';
import { collectParts } from '../platform/memory.ts';
import { systemClock, wait, waitFor } from '../platform/system-clock.ts';
import { limitYoungHeap } from '../platform/young-heap.ts';
import { describeStartFailure, exitCodeOf, type ProcessExit } from '../supervisor/child.ts';
import {
  backlogBytesMax,
  endMs,
  handshakeMs,
  heldBytesMax,
  heldMs,
  refusedWaitMaxMs,
  restartMaxMs,
  restartMinMs,
} from './limits.ts';
import { LineRelay } from './line-relay.ts';
import type { LinkFailure, ServerLink, StartServer } from './server-link.ts';
import { Session } from './session.ts';
import type { SessionPorts } from './session-ports.ts';

/** The part of a readable stream that is used. */
export interface ClientInput {
  on(event: 'data', read: (chunk: Buffer) => void): unknown;
  once(event: 'end' | 'error', run: () => void): unknown;
  removeAllListeners(event: 'data'): unknown;
  pause(): unknown;
  resume(): unknown;
}

export interface StdioProxyOptions {
  readonly start: StartServer;
  /** The streams of the client. */
  readonly input: ClientInput;
  readonly output: Writable;
  readonly openJudge: SessionPorts['openJudge'];
  readonly onJudgeFailed: SessionPorts['onJudgeFailed'];
  /** Prints a line for a person. */
  readonly report: (line: string) => void;
  /** Whether a server that ended is started again. */
  readonly restarts: boolean;
  /** Aborts when this process must end; the reason is the name of a signal. */
  readonly stopSignal?: AbortSignal;
}

/** Runs the proxy until the client or the server is gone; returns the exit code. */
export async function runStdioProxy(options: StdioProxyOptions): Promise<number> {
  return new StdioProxy(options).run();
}

class StdioProxy {
  readonly #options: StdioProxyOptions;
  readonly #session: Session;
  readonly #toServer: LineRelay;
  readonly #toClient: LineRelay;
  #server!: ServerLink;
  #isClientGone = false;
  /** Requests that wait while the server is started again. */
  #held: PassThrough | undefined;
  /** Why requests are answered at once, during a long wait for the server. */
  #longWait: string | undefined;
  /** Restarts without an answer in between. */
  #restarts = 0;
  #answersBefore = 0;
  readonly #limitHeap = limitYoungHeap();

  constructor(options: StdioProxyOptions) {
    this.#options = options;
    const { openJudge, onJudgeFailed } = options;
    this.#session = new Session({
      toClient: (line) => this.#answerClient(line),
      toServer: (line) => this.#toServer.inject(line),
      openJudge,
      onJudgeFailed,
      report: options.report,
    });
    this.#toServer = new LineRelay(new PassThrough(), this.#session.fromClient);
    this.#toClient = new LineRelay(options.output, this.#session.fromServer);
  }

  async run(): Promise<number> {
    const { input, output, report, stopSignal } = this.#options;
    const server = await this.#start();
    if ('error' in server) {
      const { code, message } = describeStartFailure(server.error.path ?? '', server.error);
      report(message);
      return code;
    }
    this.#server = server;
    this.#toServer.sink = server.input;
    const leaving = new AbortController();
    const left = new Promise<'client' | 'stopped'>((resolve) => {
      this.#connectClient(() => resolve('client'));
      if (stopSignal?.aborted) resolve('stopped');
      stopSignal?.addEventListener('abort', () => resolve('stopped'), { once: true });
    });
    void left.then(() => leaving.abort());
    let exit: ProcessExit | undefined;
    this.#connectServer(this.#server);
    while (exit === undefined) {
      const first = await Promise.race([this.#server.ended, left]);
      this.#toClient.breakOff();
      if (typeof first === 'string') exit = await this.#endServer(first);
      else if (!this.#mayRestart(first)) exit = first;
      else if (!(await this.#restart(describeEnd(first), leaving.signal))) exit = first;
    }
    input.removeAllListeners('data');
    input.pause();
    this.#session.loseClient();
    await flush(output);
    return exitCodeOf(exit);
  }

  #start(): Promise<ServerLink | LinkFailure> {
    return this.#options.start((...lost) => this.#session.loseRequest(...lost));
  }

  /** Answers what the server has left open. A server that never answered is not started again. */
  #mayRestart(exit: ProcessExit): boolean {
    const { restarts } = this.#options;
    const isEstablished = this.#session.handshake.isDone || this.#session.answers > 0;
    this.#session.loseServer(describeEnd(exit));
    return restarts && isEstablished;
  }

  #connectClient(onGone: () => void): void {
    const { input, output } = this.#options;
    input.on('data', (chunk: Buffer) => {
      this.#toServer.push(chunk);
      this.#limitHeap();
      collectParts(chunk.length);
      if (this.#longWait !== undefined) this.#session.loseServer(this.#longWait, false);
      if (this.#toServer.isFull) input.pause();
    });
    input.once('end', () => {
      this.#toServer.end();
      onGone();
    });
    input.once('error', onGone);
    output.on('drain', () => {
      this.#server.output.resume();
      if (!this.#toServer.isFull) input.resume();
    });
    output.once('error', () => {
      this.#isClientGone = true;
      onGone();
    });
  }

  /** Connects a server, each side read no faster than the other takes it. */
  #connectServer({ input: serverInput, output: serverOutput }: ServerLink): void {
    const { input, output } = this.#options;
    serverInput.on('drain', () => {
      if (output.writableLength < backlogBytesMax) input.resume();
    });
    serverOutput.on('data', (chunk: Buffer) => {
      this.#toClient.push(chunk);
      this.#limitHeap();
      collectParts(chunk.length);
      if (this.#toClient.isFull) serverOutput.pause();
    });
    serverOutput.once('end', () => this.#toClient.end());
  }

  /** Writes an own line to the client. While a slow client has many to read, none of its requests are read. */
  #answerClient(line: Buffer): void {
    if (this.#isClientGone) return;
    this.#toClient.inject(line);
    if (this.#options.output.writableLength > backlogBytesMax) this.#options.input.pause();
  }

  /** Starts the server again, after a wait that grows. Returns false if the client has left before. */
  async #restart(cause: string, left: AbortSignal): Promise<boolean> {
    if (this.#session.answers > this.#answersBefore) this.#restarts = 0;
    for (let reason = cause; ; ) {
      const waitMs = this.#nextWaitMs();
      this.#options.report(`${reason} It is started again in ${(waitMs / 1000).toFixed(1)} s.`);
      this.#hold(waitMs > heldMs ? reason : undefined);
      await wait(systemClock, waitMs, left);
      if (left.aborted) return false;
      const server = await this.#start();
      if ('error' in server) reason = 'The MCP server could not be started.';
      else if (await this.#introduce(server, left)) return true;
      else reason = 'The MCP server did not answer its handshake.';
      this.#session.loseServer(reason);
    }
  }

  /** The wait before the next start: longer each time, and until the breaker of the server lets a call pass. */
  #nextWaitMs(): number {
    const ownMs = Math.min(restartMinMs * 2 ** this.#restarts++, restartMaxMs);
    return Math.max(ownMs, Math.min(this.#session.refusedForMs, refusedWaitMaxMs));
  }

  /** Holds the requests of the client, or answers them if the wait is long. */
  #hold(reason: string | undefined): void {
    this.#held = new PassThrough({ highWaterMark: heldBytesMax });
    this.#toServer.sink = this.#held;
    this.#longWait = reason;
    this.#options.input.resume();
  }

  /** Repeats the handshake with a server that was started again, and passes on what was held. */
  async #introduce(server: ServerLink, left: AbortSignal): Promise<boolean> {
    const { handshake } = this.#session;
    const { input, report } = this.#options;
    this.#server = server;
    this.#connectServer(server);
    const failed = Promise.race([server.ended, wait(systemClock, handshakeMs, left)]).then(() => undefined);
    const isSame = await Promise.race([handshake.repeat((line) => server.input.write(line)), failed]);
    if (isSame === undefined) {
      handshake.giveUp();
      await server.end();
      this.#toClient.breakOff();
      return false;
    }
    if (!isSame) report('the MCP server introduces itself in another way than before');
    const waiting = this.#held?.read() as Buffer | null | undefined;
    if (waiting) server.input.write(waiting);
    this.#held = undefined;
    this.#longWait = undefined;
    this.#toServer.sink = server.input;
    this.#answersBefore = this.#session.answers;
    this.#session.readRestart();
    input.resume();
    return true;
  }

  async #endServer(cause: 'client' | 'stopped'): Promise<ProcessExit> {
    const reason = this.#options.stopSignal?.reason as unknown;
    if (cause === 'client') {
      // Calls that wait for the judge are passed on before.
      await waitFor(systemClock, this.#session.opening, endMs);
      await this.#server.end();
    } else await this.#server.signal(reason === 'SIGINT' ? 'SIGINT' : 'SIGTERM');
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
