/** Requests to the one URL of an MCP server. Redirects are never followed, so that no other host sees a request. */

import { Agent as HttpAgent, type IncomingMessage, type OutgoingHttpHeaders, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { systemClock } from '../../platform/system-clock.ts';
import { connectMs, upstreamSocketsMax } from '../limits.ts';

export interface RemoteRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when the request was written. */
  readonly onSent?: (() => void) | undefined;
}

export class RemoteServer {
  readonly url: URL;
  /** Headers of every request, for example the authorization of the user. They replace those of a client. */
  readonly #headers: OutgoingHttpHeaders;
  readonly #agent: HttpAgent;

  constructor(url: URL, headers: Readonly<Record<string, string>>) {
    this.url = url;
    this.#headers = headers;
    const options = { keepAlive: true, noDelay: true, maxSockets: upstreamSocketsMax, scheduling: 'lifo' as const };
    this.#agent = url.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
  }

  /** Sends a request; resolves with the head of the response. Rejects if the server cannot be reached. */
  send({ method, headers, body, signal, onSent }: RemoteRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const start = this.url.protocol === 'https:' ? requestHttps : requestHttp;
      const length = body === undefined ? {} : { 'content-length': body.length };
      const request = start(this.url, {
        method,
        agent: this.#agent,
        headers: { ...headers, ...this.#headers, 'accept-encoding': 'identity', ...length },
        ...(signal && { signal }),
      });
      request.on('error', reject);
      request.on('response', (response) => {
        const encoding = response.headers['content-encoding'] ?? 'identity';
        if (/^(identity)?$/i.test(encoding.trim())) resolve(response);
        else request.destroy(new Error('its answer is compressed, and cannot be judged'));
      });
      if (onSent !== undefined) request.once('finish', onSent).once('close', onSent);
      request.once('socket', (socket) => {
        if (!socket.connecting) return;
        const late = new Error(`no connection within ${connectMs / 1000} s`);
        const clear = systemClock.after(connectMs, () => request.destroy(late), true);
        socket.once('connect', clear).once('close', clear);
      });
      request.end(body);
    });
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }
}

/** What to do about a response that tells of no server to speak with, in one sentence; undefined for others. */
export function describeStatus({ statusCode = 0, headers }: IncomingMessage, url: URL): string | undefined {
  const place = `${url.origin}${url.pathname}`;
  const command = `switchgear mcp -- npx mcp-remote ${place}`;
  if (statusCode === 401 || statusCode === 403)
    return (
      `The MCP server at ${place} refused the credentials (HTTP ${statusCode}). Give them with --header, or sign ` +
      `in by a browser with mcp-remote behind Switchgear: ${command}`
    );
  if (statusCode >= 300 && statusCode < 400) {
    const other = cleanPlace(headers.location, url);
    return `${place} redirects to ${other}, which was not followed: give that URL with --url.`;
  }
  if (statusCode === 404 || statusCode === 405)
    return (
      `${place} does not take messages of MCP (HTTP ${statusCode}). If the server has the old HTTP+SSE transport of ` +
      `2024-11-05, put mcp-remote behind Switchgear: ${command} --transport sse-only`
    );
  return undefined;
}

/** A place for a person to read, without what may be a secret in it. */
function cleanPlace(location: string | undefined, base: URL): string {
  try {
    const { origin, pathname } = new URL(location ?? '', base);
    return `${origin}${pathname}`;
  } catch {
    return 'another place';
  }
}
