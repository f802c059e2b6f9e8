/** The upstreams of a gateway: the only hosts that it ever reaches. */

import { Agent as HttpAgent, type IncomingMessage, type OutgoingHttpHeaders, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { hopHeaders } from '../http/hop-headers.ts';
import { withoutKey } from './keys/key-places.ts';

/** One upstream. */
export interface Upstream {
  readonly name: string;
  /** The address before the path of a request, with or without the version with which that begins. */
  readonly baseUrl: URL;
  /** Whether its paths have no version: the `/v1` of a request is left out. */
  readonly isUnversioned?: boolean;
  /** Headers in place of those of the client, e.g. the key of the provider. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the key of the client is not passed on. */
  readonly replacesKey?: boolean;
  /** The upstream that takes the calls of a model while its circuit is open here. */
  readonly fallback?: Upstream | undefined;
  /** Why no request can be sent to it. */
  readonly problem?: string;
}

/** Raw headers, name and value in turn, without those of the connection and without some others. */
export function passHeaders(raw: readonly string[], without: ReadonlySet<string>): string[] {
  let named: Set<string> | undefined;
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]!.toLowerCase() !== 'connection') continue;
    named ??= new Set();
    for (const name of raw[at + 1]!.split(',')) named.add(name.trim().toLowerCase());
  }
  const passed: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase();
    if (!hopHeaders.has(name) && named?.has(name) !== true && !without.has(name)) passed.push(raw[at]!, raw[at + 1]!);
  }
  return passed;
}

/** Connections to upstreams, kept open between requests. A connection that is silent for too long is broken. */
export function createConnections(silenceMs: number) {
  // With the time limit of its requests, an agent would leave a shorter one that an upstream announces for an idle
  // connection (`Keep-Alive: timeout=5`) on the connection while the next request uses it.
  const options = { keepAlive: true, scheduling: 'lifo', maxSockets: socketsMax, noDelay: true } as const;
  const http = new HttpAgent(options);
  const https = new HttpsAgent(options);
  return {
    /** Sends a request; resolves with the answer before its body. Errors name the host. */
    send(upstream: Upstream, call: OutgoingCall): Promise<IncomingMessage> {
      const { isTls, host, hostname, port, pathname } = addressOf(upstream.baseUrl);
      const whole = upstream.replacesKey === true ? withoutKey(call.url) : call.url;
      const url = upstream.isUnversioned === true ? whole.replace(/^\/v1(?=\/)/, '') : whole;
      return new Promise((resolve, reject) => {
        const fail = (error: Error) => reject(Object.assign(error, { upstreamHost: host }));
        const request = (isTls ? requestHttps : requestHttp)({
          agent: isTls ? https : http,
          ...{ host: hostname, port, setHost: false, timeout: silenceMs },
          method: call.method,
          path: joinPaths(pathname, url),
          headers: call.headers as unknown as OutgoingHttpHeaders,
        });
        let isAnswered = false;
        // Node would tie the signal to the connection, which later requests use, too. Without an error, since nobody
        // listens to a connection that has just been freed.
        const abort = () => void request.destroy();
        call.signal.addEventListener('abort', abort, { once: true });
        request.on('close', () => {
          call.signal.removeEventListener('abort', abort);
          // An answer that switches protocols comes neither as a response nor as an error.
          if (!isAnswered) fail(Object.assign(new Error('the upstream closed the connection'), { code: 'ECONNRESET' }));
        });
        if (call.signal.aborted) abort();
        request.on('timeout', () => request.destroy(silenceError(silenceMs)));
        request.on('response', (answer) => {
          isAnswered = true;
          resolve(answer);
        });
        request.on('error', fail);
        if (call.body === undefined) request.end();
        else if (Buffer.isBuffer(call.body)) request.end(call.body);
        else call.body.pipe(request);
      });
    },
    close(): void {
      http.destroy();
      https.destroy();
    },
  };
}

/** The parts of an upstream's address, which `URL` would read anew for each request. */
export interface Address {
  readonly isTls: boolean;
  readonly origin: string;
  readonly host: string;
  readonly hostname: string;
  readonly port: number;
  readonly pathname: string;
}

const addresses = new WeakMap<URL, Address>();

export function addressOf(baseUrl: URL): Address {
  const known = addresses.get(baseUrl);
  if (known !== undefined) return known;
  const { protocol, origin, host, hostname, port, pathname } = baseUrl;
  const isTls = protocol === 'https:';
  const address = {
    ...{ isTls, origin, host, hostname: hostname.replace(/^\[|\]$/g, '') },
    ...{ port: Number(port) || (isTls ? 443 : 80), pathname },
  };
  addresses.set(baseUrl, address);
  return address;
}

/** The path of a request below a base path. A base path may end with the version with which the path begins. */
function joinPaths(base: string, url: string): string {
  const [version = ''] = /^\/v1(beta)?(?=\/)/.exec(url) ?? [];
  const whole = base.replace(/\/$/, '');
  return version !== '' && whole.endsWith(version) ? `${whole}${url.slice(version.length)}` : `${whole}${url}`;
}

function silenceError(silenceMs: number): Error {
  const message = `the upstream was silent for ${silenceMs / 1000} s`;
  return Object.assign(new Error(message), { code: silenceCode });
}

/** The code of the error of a connection that was silent for too long. */
export const silenceCode = 'ETIMEDOUT';

/** One request to an upstream. */
export interface OutgoingCall {
  readonly method: string;
  readonly url: string;
  /** Name and value in turn. */
  readonly headers: readonly string[];
  readonly body: Buffer | NodeJS.ReadableStream | undefined;
  readonly signal: AbortSignal;
}

/** Connections to one upstream. */
const socketsMax = 1_024;
