/** The checks of a request before its token: host, origin, target; and after it: custom header and content type. */

import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.ts';

/** The hosts under which the server may be addressed. */
export interface HostRules {
  readonly port: number;
  readonly scheme: 'http' | 'https';
  /** More names: `NAME` for any port, or `NAME:PORT`. */
  readonly allowed: readonly string[];
}

const loopbackNames = ['127.0.0.1', 'localhost', '[::1]'];
const hostPattern = /^(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)(?::(\d{1,5}))?$/;

/** Headers that decide about a request, so that a second one is refused. */
const singleHeaders: ReadonlySet<string> = new Set([
  ...['host', 'origin', 'authorization', 'cookie', 'x-switchgear', 'x-switchgear-page', 'content-type'],
  ...['sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest'],
]);

/** Checks that each header that decides is there at most once. */
export function checkSingleHeaders({ rawHeaders }: IncomingMessage): void {
  const seen = new Set<string>();
  let name: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const each = rawHeaders[at]!.toLowerCase();
    if (seen.has(each)) name ??= each;
    if (singleHeaders.has(each)) seen.add(each);
  }
  if (name !== undefined) throw new HttpError(400, 'duplicate_header', `the header ${name} is given twice`);
}

/** Checks the host against the allowed ones: a foreign name that resolves to this machine is refused. */
export function checkHost(request: IncomingMessage, rules: HostRules): void {
  const host = (request.headers.host ?? '').toLowerCase();
  const [, name, portText] = hostPattern.exec(host) ?? [];
  const port = portText === undefined ? (rules.scheme === 'https' ? 443 : 80) : Number(portText);
  if (name !== undefined && isOwnHost(name, port, request, rules)) return;
  throw new HttpError(403, 'host_not_allowed', 'this host is not allowed: start the server with --allow-host NAME');
}

function isOwnHost(
  name: string,
  port: number,
  { socket }: IncomingMessage,
  { port: own, allowed }: HostRules,
): boolean {
  if (allowed.includes(name) || allowed.includes(`${name}:${port}`)) return true;
  if (port !== own) return false;
  const local = (socket.localAddress ?? '').replace(/^::ffff:/, '');
  if (name === local || name === `[${local}]`) return true;
  return loopbackNames.includes(name) && (local === '::1' || local.startsWith('127.'));
}

/** Checks that a browser sent the request for a page of this server, or that no browser sent it. */
export function checkOrigin(request: IncomingMessage, { scheme, allowed }: HostRules): void {
  const { host = '', origin, 'sec-fetch-site': site } = request.headers;
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const isSameSite = site === undefined || site === 'same-origin' || (site === 'none' && isRead);
  const name = host.toLowerCase().replace(/:\d+$/, '');
  // Before a named host there may be a proxy that ends TLS.
  const isNamed = allowed.includes(name) || allowed.includes(host.toLowerCase());
  const schemes = isNamed ? ['http', 'https'] : [scheme];
  const isSameOrigin = origin === undefined || schemes.some((each) => origin === `${each}://${host}`);
  if (isSameSite && isSameOrigin) return;
  throw new HttpError(403, 'origin_not_allowed', 'a page of another origin must not use this server');
}

/** Whether a person opens the path as a page of its own, as with a link in a message. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  const { origin, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers;
  return method === 'GET' && origin === undefined && mode === 'navigate' && destination === 'document';
}

/** The path and the query of a request; throws for other forms of targets. */
export function parseRequestTarget({ url = '' }: IncomingMessage): {
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
} {
  const [path = '', query = ''] = url.split('?', 2);
  if (!path.startsWith('/') || path.startsWith('//') || path.length > 2_000 || url.includes('#'))
    throw new HttpError(400, 'invalid_target', 'the target of a request must be a path');
  try {
    return { segments: path.slice(1).split('/').map(decodeURIComponent), query: new URLSearchParams(query) };
  } catch {
    throw new HttpError(400, 'invalid_target', 'the path of the request is not encoded correctly');
  }
}

/** Checks the header that a page of another origin cannot send without being asked first. */
export function checkOwnHeader({ headers }: IncomingMessage): void {
  if (headers['x-switchgear'] === '1') return;
  throw new HttpError(403, 'header_missing', 'the request needs the header x-switchgear: 1');
}

/** Checks that the body of a request is declared as JSON. */
export function checkContentType({ headers }: IncomingMessage): void {
  if (/^application\/json(?:\s*;\s*charset=utf-8)?$/i.test(headers['content-type'] ?? '')) return;
  throw new HttpError(415, 'content_type', 'the request needs the content type application/json');
}
