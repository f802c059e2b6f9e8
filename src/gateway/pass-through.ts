/** Passes requests and answers byte for byte. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { keyHeaders } from './keys/key-places.ts';
import { addressOf, passHeaders, type Upstream } from './upstreams.ts';

/**
 * Headers of the client that are not sent to the upstream. Among them are those that replace the method: with one, a
 * request to a free path could become a model call.
 */
const ownHeaders = [
  ...['host', 'content-length', 'expect', 'x-switchgear-task', 'x-switchgear-session', 'x-switchgear-agent'],
  ...['x-http-method-override', 'x-http-method', 'x-method-override'],
];
const passedBody = new Set(ownHeaders);
const heldBody = new Set([...ownHeaders, 'accept-encoding']);

/**
 * The headers of a request to the upstream, name and value in turn. An answer that is read while it passes must not be
 * compressed; its request has a length of its own.
 */
export function makeUpstreamHeaders(
  request: IncomingMessage,
  upstream: Upstream,
  bodyLength?: number,
  isDecoded = false,
): string[] {
  const { own, without } = planHeaders(upstream, bodyLength !== undefined, isDecoded);
  const headers = passHeaders(request.rawHeaders, without);
  headers.push('Host', addressOf(upstream.baseUrl).host);
  headers.push(...own);
  if (bodyLength !== undefined) headers.push('Accept-Encoding', 'identity', 'Content-Length', `${bodyLength}`);
  else if (hasBody(request)) headers.push(...frameBody(request));
  return headers;
}

/** What is the same for all requests to an upstream: its own headers, and those of a client that are left out. */
interface HeaderPlan {
  /** Name and value in turn. */
  readonly own: readonly string[];
  readonly without: ReadonlySet<string>;
}

const headerPlans = new WeakMap<Upstream, Map<string, HeaderPlan>>();

function planHeaders(upstream: Upstream, isHeld: boolean, isDecoded: boolean): HeaderPlan {
  const plans = headerPlans.get(upstream) ?? new Map<string, HeaderPlan>();
  headerPlans.set(upstream, plans);
  const kind = `${isHeld} ${isDecoded}`;
  let plan = plans.get(kind);
  if (plan === undefined) {
    const { headers, replacesKey } = upstream;
    const without = new Set([...(isHeld ? heldBody : passedBody), ...Object.keys(headers)]);
    if (isDecoded) without.add('content-encoding');
    if (replacesKey === true) for (const name of keyHeaders) without.add(name);
    plan = { own: Object.entries(headers).flat(), without };
    plans.set(kind, plan);
  }
  return plan;
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/**
 * How the upstream finds the end of a body that passes. Node frames no body of a `GET` by itself: the upstream would
 * read the body as the next request.
 */
function frameBody({ headers }: IncomingMessage): readonly string[] {
  const length = headers['transfer-encoding'] === undefined ? headers['content-length'] : undefined;
  return length === undefined ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', length];
}

const none: ReadonlySet<string> = new Set();
const decoded: ReadonlySet<string> = new Set(['content-encoding', 'content-length']);
const unframed: ReadonlySet<string> = new Set(['content-length']);

/** Sends the head of an upstream's answer to the client; without its length if the gateway may end it elsewhere. */
export function passHead(answer: IncomingMessage, response: ServerResponse, isDecoded = false, mayBeCut = false): void {
  const headers = passHeaders(answer.rawHeaders, isDecoded ? decoded : mayBeCut ? unframed : none);
  const { statusCode: status = 502, statusMessage = '' } = answer;
  // Node reads answers that it would not write.
  const reason = /^[\t\x20-\x7e\x80-\xff]*$/.test(statusMessage) ? statusMessage : '';
  response.writeHead(status < 200 ? 502 : status, reason, headers);
}

/** Passes a whole answer to the client. A broken answer breaks off for the client, too. */
export function passAnswer(answer: IncomingMessage, response: ServerResponse): void {
  passHead(answer, response);
  answer.on('error', () => response.destroy());
  response.on('close', () => answer.destroy());
  answer.pipe(response);
}
