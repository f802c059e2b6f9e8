/** A listener of the proxy in this process, and requests to it. */

import { request as sendRequest } from 'node:http';
import { after } from 'node:test';
import type { SwitchgearOptions } from '../../../src/index.ts';
import { HttpRelay } from '../../../src/mcp/http/http-relay.ts';
import { type ClientHandler, listen } from '../../../src/mcp/http/listener.ts';
import { RemoteServer } from '../../../src/mcp/http/remote-server.ts';
import { StdioBridge } from '../../../src/mcp/http/stdio-bridge.ts';
import type { StartServer } from '../../../src/mcp/server-link.ts';
import { startServerProcess } from '../../../src/mcp/server-process.ts';
import { createMemoryJudge } from './http-setup.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as JSON, or the data of the last event. */
  readonly frame: Readonly<Record<string, unknown>>;
}

export const accept = 'application/json, text/event-stream';

/** Sends one request, with the headers as they are given. */
export function send(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer = '',
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const request = sendRequest(url, { method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('error', reject).on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, frame: readFrame(text) });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

function readFrame(text: string): HttpAnswer['frame'] {
  const data = [...text.matchAll(/^data: (.+)$/gm)].at(-1)?.[1] ?? text;
  try {
    return JSON.parse(data) as HttpAnswer['frame'];
  } catch {
    return {};
  }
}

export function post(url: string, frame: unknown, headers: Readonly<Record<string, string>> = {}) {
  const body = typeof frame === 'string' ? frame : JSON.stringify(frame);
  return send(url, 'POST', { 'content-type': 'application/json', accept, ...headers }, body);
}

const reports: string[] = [];

async function start(handler: ClientHandler & { close(): void | Promise<void> }) {
  const listener = await listen({ host: '127.0.0.1', port: 0, path: '/mcp', allowedHosts: [], handler });
  const close = async () => {
    await handler.close();
    await listener.close();
  };
  after(close);
  return { url: listener.url, handler, close, reports };
}

const judged = (policy?: SwitchgearOptions['policy']) => {
  const { gear, openJudge } = createMemoryJudge('docs', policy);
  const onJudgeFailed = (error: unknown) => {
    throw error;
  };
  return { gear, ports: { openJudge, onJudgeFailed, report: (line: string) => void reports.push(line) } };
};

/** In front of a URL. */
export async function startRelay(
  url: URL,
  headers: Readonly<Record<string, string>> = {},
  policy?: SwitchgearOptions['policy'],
) {
  const { gear, ports } = judged(policy);
  return { gear, ...(await start(new HttpRelay({ ...ports, remote: new RemoteServer(url, headers) }))) };
}

/** In front of a stdio server. */
export async function startBridge(
  command: readonly string[],
  startServer: StartServer = () => startServerProcess(command),
) {
  const { gear, ports } = judged();
  const bridge = new StdioBridge({ ...ports, restarts: true, start: startServer });
  return { gear, ...(await start(bridge)) };
}
