/** An MCP server over HTTP whose answers a test writes, and a proxy for lines in front of it, in this process. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { after } from 'node:test';
import { runtimeOf, startTask, type TaskState } from '../../../src/guard/internal.ts';
import { createSwitchgear, type SwitchgearOptions } from '../../../src/index.ts';
import type { SessionClient } from '../../../src/mcp/elicitation.ts';
import { RemoteServer } from '../../../src/mcp/http/remote-server.ts';
import { HttpServerLink } from '../../../src/mcp/http/server-link.ts';
import { createJudge, type Judge } from '../../../src/mcp/judge.ts';
import { runStdioProxy } from '../../../src/mcp/stdio-proxy.ts';
import type { Approver } from '../../../src/ports/approver.ts';
import type { Frame } from '../proxied-session.ts';

/** A request that a server got, with what a test answers it by. */
export interface Exchange {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The message in the body. */
  readonly frame: Frame;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  json(value: unknown, status?: number, headers?: Readonly<Record<string, string>>): void;
  /** Answers the request in the body with a result. */
  result(result: object, headers?: Readonly<Record<string, string>>): void;
  /** Begins a stream of events, and writes them as they are. */
  events(...events: readonly string[]): void;
}

export async function startHttpServer(answer: (exchange: Exchange) => void) {
  const seen: Exchange[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('utf8');
      const exchange = makeExchange(request, response, body);
      seen.push(exchange);
      answer(exchange);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  after(close);
  return { seen, server, port, url: new URL(`http://127.0.0.1:${port}/mcp`), close };
}

function makeExchange(request: IncomingMessage, response: ServerResponse, body: string): Exchange {
  const frame = parse(body);
  const json: Exchange['json'] = (value, status = 200, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
  return {
    ...{ method: request.method ?? '', headers: request.headers, body, frame, request, response, json },
    result: (result, headers) => json({ jsonrpc: '2.0', id: frame.id, result }, 200, headers),
    events(...events) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const each of events) response.write(each);
    },
  };
}

function parse(body: string): Frame {
  try {
    return JSON.parse(body) as Frame;
  } catch {
    return {};
  }
}

/** A judge with all controls, in memory. */
export function createMemoryJudge(server = 'docs', policy?: SwitchgearOptions['policy']) {
  let asked: Approver | undefined;
  const approver: Approver = {
    name: 'client',
    isAvailable: () => asked?.isAvailable?.() === true,
    ask: (card, signal) => asked!.ask(card, signal),
  };
  const gear = createSwitchgear({
    ...{ agent: 'Researcher', session: 's1', log: 'silent', env: {}, approver },
    ...(policy && { policy }),
  });
  const runtime = runtimeOf(gear);
  let task: TaskState | undefined;
  const findTask = () => {
    task ??= startTask(runtime, { parent: null }, undefined);
    return task;
  };
  const openJudge = (client: SessionClient): Promise<Judge> => {
    asked = client.approver;
    return Promise.resolve(createJudge(runtime, server, findTask));
  };
  return { gear, openJudge };
}

/** A proxy for lines in front of a URL. */
export function proxyUrl(url: URL, headers: Readonly<Record<string, string>> = {}) {
  const { gear, openJudge } = createMemoryJudge();
  const input = new PassThrough();
  const output = new PassThrough();
  const reports: string[] = [];
  const frames: Frame[] = [];
  const waiting: (() => void)[] = [];
  const lines: string[] = [];
  let rest = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    rest += text;
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
      lines.push(rest.slice(0, end));
      frames.push(JSON.parse(rest.slice(0, end)) as Frame);
      rest = rest.slice(end + 1);
    }
    for (const resolve of waiting.splice(0)) resolve();
  });
  const remote = new RemoteServer(url, headers);
  const report = (line: string) => void reports.push(line);
  const done = runStdioProxy({
    ...{ input, output, report, openJudge, restarts: true },
    start: (lose) => Promise.resolve(new HttpServerLink({ remote, report, lose })),
    onJudgeFailed(error) {
      throw error;
    },
  });
  let ids = 0;
  const send = (frame: object) => void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`);
  const find = async (isIt: (frame: Frame) => boolean): Promise<Frame> => {
    for (;;) {
      const found = frames.find(isIt);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  const request = (method: string, params: object = {}) => {
    const id = ++ids;
    send({ id, method, params });
    return find((frame) => frame.id === id && frame.method === undefined);
  };
  return {
    ...{ gear, input, lines, frames, reports, done, send, find, request },
    async initialize(version = '2025-06-18') {
      const clientInfo = { name: 'tester', version: '1' };
      const frame = await request('initialize', { protocolVersion: version, capabilities: {}, clientInfo });
      send({ method: 'notifications/initialized' });
      return frame;
    },
    call: (name: string, args: object = {}) => request('tools/call', { name, arguments: args }),
    end() {
      input.end();
      return done;
    },
  };
}
