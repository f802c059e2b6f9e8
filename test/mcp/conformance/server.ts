/**
 * A server for the official conformance suite, on stdio, or by HTTP on the port that is given: `node server.ts 3000`.
 * It prints its URL to stderr.
 */

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { answerRequest, type Message, Questions } from './everything.ts';

function serveStdio(): void {
  const questions = new Questions();
  const send = (message: Message) => void process.stdout.write(`${JSON.stringify(message)}\n`);
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message = JSON.parse(line) as Message;
    if (message.method === undefined) questions.take(message);
    else if (message.id !== undefined)
      void answerRequest(message, {
        notify: (method, params) => send({ jsonrpc: '2.0', method, params }),
        ask: (method, params) => questions.ask(send, method, params),
        closeStream: () => undefined,
      }).then(send);
  });
}

/** One session by HTTP. */
class HttpSession {
  readonly id = randomUUID();
  readonly questions = new Questions();
  /** Messages that wait for a client that goes on with a stream. */
  readonly kept = new Map<string, string[]>();
  readonly open = new Map<string, ServerResponse>();
  streams = 0;

  post(message: Message, response: ServerResponse): void {
    const stream = `s${++this.streams}`;
    let events = 0;
    const write = (data: string, more = '') => {
      const event = `id: ${stream}-${++events}\n${more}data: ${data}\n\n`;
      const current = this.open.get(stream);
      if (current === undefined) this.kept.set(stream, [...(this.kept.get(stream) ?? []), event]);
      else current.write(event);
    };
    const send = (each: Message) => write(JSON.stringify(each));
    this.open.set(stream, response);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': this.id });
    write('', 'retry: 200\n');
    void answerRequest(message, {
      notify: (method, params) => send({ jsonrpc: '2.0', method, params }),
      ask: (method, params) => this.questions.ask(send, method, params),
      closeStream: () => {
        this.open.get(stream)?.end();
        this.open.delete(stream);
      },
    }).then((answer) => {
      send(answer);
      this.open.get(stream)?.end();
      this.open.delete(stream);
    });
  }

  get(lastEventId: string | undefined, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': this.id });
    response.flushHeaders();
    const stream = lastEventId?.split('-')[0];
    if (stream === undefined) return;
    const kept = this.kept.get(stream) ?? [];
    for (const event of kept) response.write(event);
    if (kept.length > 0) response.end();
    else this.open.set(stream, response);
  }
}

function serveHttp(port: number): void {
  const sessions = new Map<string, HttpSession>();
  const server = createServer((request, response) => {
    const { host = '', origin } = request.headers;
    const isLocal = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host);
    if (!isLocal || (origin !== undefined && origin !== `http://${host}`)) response.writeHead(403).end();
    else void readMessage(request).then((message) => answerHttp(sessions, request, response, message));
  });
  server.listen(port, '127.0.0.1', () => {
    process.stderr.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp\n`);
  });
}

async function readMessage(request: IncomingMessage): Promise<Message> {
  let body = '';
  for await (const part of request.setEncoding('utf8')) body += part as string;
  return body === '' ? {} : (JSON.parse(body) as Message);
}

function answerHttp(
  sessions: Map<string, HttpSession>,
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  message: Message,
): void {
  const isFirst = message.method === 'initialize';
  const session = isFirst ? new HttpSession() : sessions.get(String(headers['mcp-session-id']));
  if (session === undefined) {
    response.writeHead(headers['mcp-session-id'] === undefined ? 400 : 404).end();
    return;
  }
  sessions.set(session.id, session);
  if (method === 'GET') session.get(headers['last-event-id']?.toString(), response);
  else if (method === 'DELETE') {
    sessions.delete(session.id);
    response.writeHead(200).end();
  } else if (message.id === undefined || message.method === undefined) {
    if (message.method === undefined) session.questions.take(message);
    response.writeHead(202).end();
  } else session.post(message, response);
}

const [port] = process.argv.slice(2);
if (port === undefined) serveStdio();
else serveHttp(Number(port));
