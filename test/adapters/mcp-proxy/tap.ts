/** A recording relay in front of an HTTP server: heads and bytes pass in both directions, and are kept. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request and its response, as far as it came. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  body: string;
  status: number;
  responseHeaders: readonly string[];
  response: string;
}

export interface Tap {
  readonly url: string;
  readonly exchanges: readonly Exchange[];
  close(): void;
}

/** Where the server is: a URL, or the socket that it listens on. */
export type Target = { readonly url: string } | { readonly socketPath: string };

export async function startTap(target: Target): Promise<Tap> {
  const exchanges: Exchange[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method = '', url: path = '', rawHeaders } = incoming;
    const kept: Exchange = { method, path, headers: [], body: '', status: 0, responseHeaders: [], response: '' };
    exchanges.push(Object.assign(kept, { headers: withoutHops(rawHeaders) }));
    const { host, hostname, port } = new URL('url' in target ? target.url : 'http://127.0.0.1');
    const place = 'url' in target ? { hostname, port } : target;
    const headers = [...withoutHops(rawHeaders), 'host', host];
    const request = sendRequest({ ...place, path, method, headers, agent: false }, (answer: IncomingMessage) => {
      kept.status = answer.statusCode ?? 0;
      kept.responseHeaders = withoutHops(answer.rawHeaders);
      outgoing.writeHead(kept.status, [...kept.responseHeaders]);
      outgoing.flushHeaders();
      answer.on('data', (part: Buffer) => {
        kept.response += part.toString('latin1');
        outgoing.write(part);
      });
      answer.on('error', () => outgoing.destroy()).on('end', () => outgoing.end());
    });
    request.on('error', () => outgoing.destroy());
    outgoing.on('error', () => undefined).on('close', () => request.destroy());
    // In one piece: a server may answer and close before a second one, whose error would hide the answer.
    incoming.on('data', (part: Buffer) => {
      kept.body += part.toString('latin1');
    });
    incoming.on('end', () => request.end(Buffer.from(kept.body, 'latin1')));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}/mcp`, exchanges, close };
}

/** Headers that belong to one connection. */
const hops = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host']);

function withoutHops(raw: readonly string[]): readonly string[] {
  return raw.flatMap((name, at) => (at % 2 === 0 && !hops.has(name.toLowerCase()) ? [name, raw[at + 1]!] : []));
}

/** The messages of one side. */
export function listMessages(exchanges: readonly Exchange[], from: 'client' | 'server'): readonly string[] {
  const texts = exchanges.flatMap((each) => (from === 'client' ? [each.body] : readResponse(each)));
  return texts.filter((text) => text !== '').map((text) => Buffer.from(text, 'latin1').toString('utf8'));
}

function readResponse({ responseHeaders, response }: Exchange): readonly string[] {
  const at = responseHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-type');
  if (at === -1 || !responseHeaders[at + 1]!.startsWith('text/event-stream')) return [response];
  return [...response.matchAll(/^data: ?(.+)$/gm)].map(([, data]) => data!);
}
