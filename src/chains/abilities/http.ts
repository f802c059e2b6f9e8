/** `http.get` and `http.post`: requests to hosts that the policy allows. */

import { lookup as systemLookup } from 'node:dns';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { AbilitySettings } from '../../core/declare/ability-settings.ts';
import { httpRedirectsMax, reasonLengthMax } from '../../core/limits.ts';
import { quoteValue } from '../../core/quote.ts';
import {
  type AbilityCall,
  AbilityError,
  type AbilitySource,
  argumentError,
  checkArgumentNames,
  createSwitchedSource,
  requireText,
  requireTexts,
} from './ability.ts';
import { type AllowedTarget, checkUrl, type HostPattern, parseHostPatterns } from './http-address.ts';
import { type DnsLookup, type HttpRequest, type HttpResponse, sendRequest } from './http-request.ts';

/** Options of `httpAbilities`. */
export interface HttpOptions {
  /**
   * Resolves host names to addresses.
   * @default dns.lookup
   */
  readonly lookup?: DnsLookup;
}

type Send = (request: HttpRequest, allowed: AllowedTarget) => Promise<HttpResponse>;
type HttpSettings = Pick<AbilitySettings, 'http' | 'httpHosts'>;

/** The abilities `http.get` and `http.post`; they exist only if `abilities.http` of the policy is true. */
export function httpAbilities(
  { http: isOn, httpHosts }: HttpSettings,
  { lookup = systemLookup }: HttpOptions = {},
): AbilitySource {
  const hosts = parseHostPatterns(httpHosts);
  const ability = (name: string, method: HttpRequest['method']) => ({
    name,
    scope: 'agent' as const,
    run: async (call: AbilityCall) => {
      const send: Send = (request, allowed) => sendRequest(request, allowed, lookup, call.signal);
      return parseResponse(await followRedirects(buildRequest(call, method), hosts, send));
    },
  });
  return createSwitchedSource('http', isOn, [ability('http.get', 'GET'), ability('http.post', 'POST')]);
}

/** Reads the request from the arguments. */
function buildRequest({ name, args, attemptKey }: AbilityCall, method: HttpRequest['method']): HttpRequest {
  checkArgumentNames(name, args, ['url', 'headers', 'query', ...(method === 'POST' ? ['body', 'json'] : [])]);
  if (typeof args.url !== 'string' || !URL.canParse(args.url))
    throw argumentError(name, `url must be a full URL with https://, got ${quoteValue(args.url)}`);
  const url = new URL(args.url);
  for (const [key, value] of requireTexts(name, 'query', args.query)) url.searchParams.append(key, value);
  if (args.body !== undefined && args.json !== undefined)
    throw argumentError(name, 'takes either body or json, not both');
  const text = args.body === undefined ? undefined : requireText(name, 'body', args.body);
  const headers: Record<string, string> = { accept: 'application/json, */*;q=0.5', 'accept-encoding': 'identity' };
  if (method === 'POST') headers['idempotency-key'] = attemptKey;
  if (args.json !== undefined) headers['content-type'] = 'application/json';
  for (const [key, value] of requireTexts(name, 'headers', args.headers))
    headers[checkHeader(name, key, value)] = value;
  return { method, url, headers, body: args.json === undefined ? text : JSON.stringify(args.json) };
}

/** Headers that decide where a request goes or ends; they are computed, and arguments may not set them. */
const reservedHeaders = ['connection', 'content-length', 'host', 'transfer-encoding', 'upgrade'];

function checkHeader(ability: string, key: string, value: string): string {
  const lower = key.toLowerCase();
  if (reservedHeaders.includes(lower))
    throw argumentError(ability, `headers.${key} is set by the request itself: remove it`);
  try {
    validateHeaderName(key);
    validateHeaderValue(key, value);
  } catch {
    throw argumentError(ability, `headers: ${quoteValue(key)} has characters that a header cannot contain`);
  }
  return lower;
}

/** Sends the request and follows redirects; checks each address anew. */
async function followRedirects(
  first: HttpRequest,
  hosts: readonly HostPattern[],
  send: Send,
): Promise<HttpResponse & { url: URL }> {
  let request = first;
  let mayBeLocal = true;
  for (let redirects = 0; ; redirects++) {
    const { url } = request;
    const allowed = checkUrl(url, hosts, mayBeLocal);
    const response = await send(request, allowed);
    const { location } = response.headers;
    if (response.status < 300 || response.status >= 400 || typeof location !== 'string') return { ...response, url };
    if (redirects === httpRedirectsMax)
      throw new AbilityError(`${url.host} redirects more than ${httpRedirectsMax} times`, { status: response.status });
    if (!URL.canParse(location, url.href))
      throw new AbilityError(`${url.host} redirects to ${quoteValue(location)}, which is not a URL`);
    mayBeLocal = allowed.isLoopback;
    request = redirectRequest(request, new URL(location, url.href), response.status);
  }
}

/** Follows redirects like a browser: 307 and 308 repeat the request, others use GET; secrets stay with their host. */
function redirectRequest({ method, url: from, headers, body }: HttpRequest, url: URL, status: number): HttpRequest {
  const isSame = method === 'GET' || status === 307 || status === 308;
  const secret = /^(authorization|cookie|proxy-authorization|.*(api-?key|token|secret).*)$/;
  const keptHeaders = Object.entries(headers).filter(
    ([key]) => (url.origin === from.origin || !secret.test(key)) && (isSame || !key.startsWith('content-')),
  );
  return {
    method: isSame ? method : 'GET',
    url,
    headers: Object.fromEntries(keptHeaders),
    body: isSame ? body : undefined,
  };
}

/** Reads a response: JSON as its value, else its text; a status from 400 on is a failure. */
function parseResponse({ status, headers, body, url }: HttpResponse & { url: URL }): unknown {
  const where = `${url.host} answered ${status}`;
  if (status >= 400) {
    const retryAfterMs = parseRetryAfter(headers);
    const detail = body.toString('utf8').replaceAll(/\s+/g, ' ').trim().slice(0, reasonLengthMax);
    const facts = { status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    throw new AbilityError(detail === '' ? where : `${where}: ${detail}`, facts);
  }
  if (body.length === 0) return null;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new AbilityError(`${where} with ${body.length} bytes that are not text`);
  }
  if (!/[/+]json\b/i.test(String(headers['content-type']))) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new AbilityError(`${where} with JSON that cannot be read: ${quoteValue(text)}`);
  }
}

/** Reads seconds or a date. A date is compared with the date of the answer, because clocks may differ. */
function parseRetryAfter(headers: HttpResponse['headers']): number | undefined {
  const header = String(headers['retry-after'] ?? '');
  if (/^\d{1,6}$/.test(header)) return Number(header) * 1000;
  const waitMs = Date.parse(header) - Date.parse(String(headers.date));
  return waitMs > 0 ? waitMs : undefined;
}
