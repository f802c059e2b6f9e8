/** A session between a client and a server, in this process: with a gear, a simulated clock and no streams. */

import { Writable } from 'node:stream';
import { runtimeOf, startTask, type TaskState } from '../../src/guard/internal.ts';
import { createSwitchgear, type SwitchgearOptions } from '../../src/index.ts';
import { createJudge } from '../../src/mcp/judge.ts';
import { LineRelay } from '../../src/mcp/line-relay.ts';
import { Session } from '../../src/mcp/session.ts';
import { openToolPins } from '../../src/mcp/tool-pins.ts';
import type { Approver } from '../../src/ports/approver.ts';
import { simulatedClock } from '../../src/testing/index.ts';

export type Frame = Readonly<Record<string, unknown>>;

/** A sink that keeps what was written. */
export class Kept extends Writable {
  readonly chunks: Buffer[] = [];
  bytes = 0;
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.chunks.push(Buffer.from(chunk));
    this.bytes += chunk.length;
    done();
  }
  get text(): string {
    return Buffer.concat(this.chunks).toString('utf8');
  }
  get frames(): readonly Frame[] {
    return this.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Frame);
  }
}

export interface SessionSetup extends Omit<SwitchgearOptions, 'log' | 'env'> {
  /** Whether the client asks its person for approvals. */
  readonly asksClient?: boolean;
  /** The command of the server. */
  readonly command?: readonly string[];
}

export function proxiedSession(
  { asksClient = false, command = ['docs-server'], ...options }: SessionSetup = {},
  server = 'docs',
  sinks: { readonly client?: Writable; readonly server?: Writable } = {},
) {
  const clock = simulatedClock();
  let asked: Approver | undefined;
  const approver: Approver = {
    name: 'client',
    isAvailable: () => asked?.isAvailable?.() === true,
    ask: (card, signal) => asked!.ask(card, signal),
  };
  const gear = createSwitchgear({
    ...{ agent: 'Researcher', session: 's1', clock, ...(asksClient && { approver }) },
    ...options,
    ...{ log: 'silent', env: {} },
  });
  const runtime = runtimeOf(gear);
  let task: TaskState | undefined;
  const findTask = () => {
    task ??= startTask(runtime, { parent: null }, undefined);
    return task;
  };
  const reports: string[] = [];
  const client = new Kept();
  const serverInput = new Kept();
  const session: Session = new Session({
    toClient: (line) => toClient.inject(line),
    toServer: (line) => toServer.inject(line),
    openJudge: async (client) => {
      asked = client.approver;
      return createJudge(runtime, server, findTask, undefined, await openToolPins(runtime, server, command));
    },
    onJudgeFailed(error) {
      throw error;
    },
    report: (line) => void reports.push(line),
  });
  const toServer = new LineRelay(sinks.server ?? serverInput, session.fromClient);
  const toClient = new LineRelay(sinks.client ?? client, session.fromServer);
  let ids = 0;
  const line = (frame: unknown) => Buffer.from(`${JSON.stringify(frame)}\n`);
  const proxy = {
    clock,
    gear,
    client,
    server: serverInput,
    session,
    reports,
    fromClient: (frame: unknown) => toServer.push(Buffer.isBuffer(frame) ? frame : line(frame)),
    fromServer: (frame: unknown) => toClient.push(Buffer.isBuffer(frame) ? frame : line(frame)),
    /** Opens the judge, as the handshake of a client does. */
    async open() {
      proxy.fromClient({ jsonrpc: '2.0', method: 'notifications/initialized' });
      await turn();
    },
    /** Sends a call; returns its id, and whether it reached the server. */
    call(name: string, args: object = {}, more: object = {}) {
      const id = ++ids;
      const before = serverInput.bytes;
      proxy.fromClient({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...more } });
      return { id, isPassed: serverInput.bytes > before };
    },
    answer: (id: number, result: object) => proxy.fromServer({ jsonrpc: '2.0', id, result }),
    fail: (id: number, text = 'parse failure') =>
      proxy.answer(id, { isError: true, content: [{ type: 'text', text }] }),
    succeed: (id: number) => proxy.answer(id, { content: [{ type: 'text', text: `done ${id}` }] }),
    /** The answer that the client got. */
    got: (id: number) => client.frames.find((frame) => frame.id === id && frame.method === undefined),
  };
  return proxy;
}

/** Lets promises of the session run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
