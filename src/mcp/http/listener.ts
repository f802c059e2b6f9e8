/** Where clients connect by HTTP: one path on the loopback address. Every request is checked before it is handled. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { HttpError } from '../../http/http-error.ts';
import { checkContentType, checkHost, checkOrigin, checkSingleHeaders } from '../../http/request-checks.ts';
import { collectParts } from '../../platform/memory.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { discardedBytesMax, discardMs, listenerConnectionsMax, requestHeadMs, requestMs } from '../limits.ts';
import { BodyBudget, isShortBody, readDeclaredLength, readRequestBody } from './request-body.ts';

/** Handles the requests of clients, after all checks. */
export interface ClientHandler {
  /** Resolves when the body is held no longer. */
  post(request: IncomingMessage, response: ServerResponse, body: Buffer): void | Promise<void>;
  get(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
  delete(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** More names under which the listener may be addressed, as behind a reverse proxy. */
  readonly allowedHosts: readonly string[];
  readonly handler: ClientHandler;
  /** Learns of the connection of each message; the message waits for the promise. */
  readonly noteClient?: ((connection: Socket) => Promise<void> | undefined) | undefined;
}

export interface Listener {
  readonly url: string;
  close(): Promise<void>;
}

/** Begins to listen; rejects if the port is taken. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, path, allowedHosts, handler, noteClient } = options;
  const budget = new BodyBudget();
  let ownPort = port;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    checkSingleHeaders(request);
    checkHost(request, { port: ownPort, scheme: 'http', allowed: allowedHosts });
    checkOrigin(request, { port: ownPort, scheme: 'http', allowed: allowedHosts });
    if (request.url?.split('?', 1)[0] !== path) throw new HttpError(404, 'not_found', `the path is ${path}`);
    // A browser that opens the address is no client.
    const noting = request.method === 'POST' ? noteClient?.(request.socket) : undefined;
    if (noting !== undefined) await noting;
    if (request.method === 'DELETE') return handler.delete(request, response);
    if (request.method === 'GET') {
      checkAccept(request, /\btext\/event-stream\b|\*\/\*|\btext\/\*/i);
      return handler.get(request, response);
    }
    if (request.method !== 'POST') throw new HttpError(405, 'method_not_allowed', 'the methods are POST, GET, DELETE');
    checkContentType(request);
    if (request.headers['content-encoding'] !== undefined)
      throw new HttpError(415, 'content_encoding', 'a compressed body cannot be judged');
    checkAccept(request, /\bapplication\/json\b|\btext\/event-stream\b|\*\/\*/i);
    const declared = readDeclaredLength(request);
    if (isShortBody(declared)) return handler.post(request, response, await readRequestBody(request));
    // A call holds its arguments until it is answered.
    const release = await budget.reserve(declared);
    const closed = new Promise((resolve) => response.once('close', resolve));
    const passed = readRequestBody(request).then((body) => handler.post(request, response, body));
    void Promise.allSettled([passed, closed]).then(release);
    await passed;
  };
  const server = createServer({ noDelay: true, keepAlive: true }, (request, response) => {
    response.on('error', () => undefined);
    answer(request, response).catch((error: unknown) => refuse(request, response, error));
  });
  server.headersTimeout = requestHeadMs;
  server.requestTimeout = requestMs;
  server.keepAliveTimeout = requestMs;
  server.maxConnections = listenerConnectionsMax;
  server.listen(port, host);
  await once(server, 'listening');
  ownPort = (server.address() as AddressInfo).port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${ownPort}${path}`,
    async close() {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

function checkAccept({ headers }: IncomingMessage, pattern: RegExp): void {
  if (headers.accept === undefined || pattern.test(headers.accept)) return;
  throw new HttpError(406, 'not_acceptable', 'the client must accept application/json and text/event-stream');
}

/** Answers a request that was not handled, with an error of JSON-RPC as its body. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  const { status, message, retryAfterSecs, code } =
    error instanceof HttpError ? error : new HttpError(500, 'internal_error', 'internal error');
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = JSON.stringify({
    jsonrpc: '2.0',
    error: { code: code === 'header_mismatch' ? -32020 : -32000, message },
    id: null,
  });
  const headers: OutgoingHttpHeaders = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(status === 405 && { allow: 'POST, GET, DELETE' }),
    ...(retryAfterSecs && { 'retry-after': String(retryAfterSecs) }),
    ...(!request.complete && { connection: 'close' }),
  };
  response.writeHead(status, headers).write(body);
  if (request.complete) response.end();
  else discardRest(request, () => response.end());
}

/**
 * Reads the rest of a body and forgets it, up to bounds: a connection that is closed while its client still writes is
 * reset, and the client may not see why it was refused.
 */
function discardRest(request: IncomingMessage, onEnd: () => void): void {
  let left = discardedBytesMax;
  const end = () => {
    cancel();
    request.off('data', read);
    onEnd();
  };
  const read = (part: Buffer) => {
    left -= part.length;
    collectParts(part.length);
    if (left < 0) end();
  };
  const cancel = systemClock.after(discardMs, end);
  request.on('error', () => undefined);
  request.once('close', cancel).once('end', end).on('data', read);
}
