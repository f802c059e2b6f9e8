/** `http.get` and `http.post`: requests to where the policy lets them go. */

import { lookup as systemLookup } from 'node:dns';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { httpRedirectsMax, reasonLengthMax } from '../../core/limits.ts';
import { quoted } from '../../core/quote.ts';
import type { AbilitySettings } from '../../core/settings.ts';
import type { AbilityCall, AbilitySource } from './ability.ts';
import { onlyKnown, textIn, textsIn, wrongArgument } from './ability-args.ts';
import { AbilityError } from './ability-error.ts';
import { switched } from './ability-switch.ts';
import { type Allowed, allowedAt, hostPatterns, type Pattern } from './http-address.ts';
import { type Answer, type Exchange, exchange, type Lookup } from './http-request.ts';

export interface HttpOptions {
  /** How names become addresses; as the system does it unless said. */
  readonly lookup?: Lookup;
}

type Send = (asked: Exchange, allowed: Allowed) => Promise<Answer>;
type HttpSettings = Pick<AbilitySettings, 'http' | 'httpHosts'>;

/** The abilities `http.get` and `http.post`, which are there only where `abilities.http` of the policy is true. */
export function httpAbilities(
  { http: isOn, httpHosts }: HttpSettings,
  { lookup = systemLookup }: HttpOptions = {},
): AbilitySource {
  const hosts = hostPatterns(httpHosts);
  const ability = (name: string, method: Exchange['method']) => ({
    name,
    scope: 'agent' as const,
    run: async (call: AbilityCall) => {
      const send: Send = (asked, allowed) => exchange(asked, allowed, lookup, call.signal);
      return outputOf(await follow(requestOf(call, method), hosts, send));
    },
  });
  return switched('http', isOn, [ability('http.get', 'GET'), ability('http.post', 'POST')]);
}

/** The request that the arguments say. */
function requestOf({ name, args, attemptKey }: AbilityCall, method: Exchange['method']): Exchange {
  onlyKnown(name, args, ['url', 'headers', 'query', ...(method === 'POST' ? ['body', 'json'] : [])]);
  if (typeof args.url !== 'string' || !URL.canParse(args.url))
    throw wrongArgument(name, `url must be a full address, got ${quoted(args.url)}`);
  const url = new URL(args.url);
  for (const [key, value] of textsIn(name, 'query', args.query)) url.searchParams.append(key, value);
  if (args.body !== undefined && args.json !== undefined) throw wrongArgument(name, 'say body or json, not both');
  const text = args.body === undefined ? undefined : textIn(name, 'body', args.body);
  const headers: Record<string, string> = { accept: 'application/json, */*;q=0.5', 'accept-encoding': 'identity' };
  if (method === 'POST') headers['idempotency-key'] = attemptKey;
  if (args.json !== undefined) headers['content-type'] = 'application/json';
  for (const [key, value] of textsIn(name, 'headers', args.headers)) headers[headerName(name, key, value)] = value;
  return { method, url, headers, body: args.json === undefined ? text : JSON.stringify(args.json) };
}

/** Headers that say where a request goes or where it ends are made from the rest of it: others could lead it astray. */
const ownHeaders = ['connection', 'content-length', 'host', 'transfer-encoding', 'upgrade'];

function headerName(ability: string, key: string, value: string): string {
  const lower = key.toLowerCase();
  if (ownHeaders.includes(lower)) throw wrongArgument(ability, `headers.${key} is not yours to set`);
  try {
    validateHeaderName(key);
    validateHeaderValue(key, value);
  } catch {
    throw wrongArgument(ability, `headers: ${quoted(key)} cannot be sent as it is`);
  }
  return lower;
}

/** Makes the request, and those that redirects ask for; each address is looked at anew. */
async function follow(first: Exchange, hosts: readonly Pattern[], send: Send): Promise<Answer & { url: URL }> {
  let asked = first;
  let mayBeLocal = true;
  for (let redirects = 0; ; redirects++) {
    const { url } = asked;
    const allowed = allowedAt(url, hosts, mayBeLocal);
    const answer = await send(asked, allowed);
    const { location } = answer.headers;
    if (answer.status < 300 || answer.status >= 400 || typeof location !== 'string') return { ...answer, url };
    if (redirects === httpRedirectsMax)
      throw new AbilityError(`${url.host} redirects more than ${httpRedirectsMax} times`, { status: answer.status });
    if (!URL.canParse(location, url.href))
      throw new AbilityError(`${url.host} redirects to ${quoted(location)}, which is no address`);
    mayBeLocal = allowed.isLoopback;
    asked = redirected(asked, new URL(location, url.href), answer.status);
  }
}

/** What browsers do: 307 and 308 ask again as before, others with GET; secrets stay with the host they were for. */
function redirected({ method, url: from, headers, body }: Exchange, url: URL, status: number): Exchange {
  const isSame = method === 'GET' || status === 307 || status === 308;
  const secret = /^(authorization|cookie|proxy-authorization|.*(api-?key|token|secret).*)$/;
  const kept = Object.entries(headers).filter(
    ([key]) => (url.origin === from.origin || !secret.test(key)) && (isSame || !key.startsWith('content-')),
  );
  return {
    method: isSame ? method : 'GET',
    url,
    headers: Object.fromEntries(kept),
    body: isSame ? body : undefined,
  };
}

/** What an answer says: JSON as its value, else its text; from 400 on it is a failure. */
function outputOf({ status, headers, body, url }: Answer & { url: URL }): unknown {
  const where = `${url.host} answered ${status}`;
  if (status >= 400) {
    const retryAfterMs = retryAfterOf(headers);
    const said = body.toString('utf8').replaceAll(/\s+/g, ' ').trim().slice(0, reasonLengthMax);
    const facts = { status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    throw new AbilityError(said === '' ? where : `${where}: ${said}`, facts);
  }
  if (body.length === 0) return null;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new AbilityError(`${where} with ${body.length} bytes that are no text`);
  }
  if (!/[/+]json\b/i.test(String(headers['content-type']))) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new AbilityError(`${where} with JSON that cannot be read: ${quoted(text)}`);
  }
}

/** Seconds, or a date, which is compared with the answer's own: clocks may differ. */
function retryAfterOf(headers: Answer['headers']): number | undefined {
  const said = String(headers['retry-after'] ?? '');
  if (/^\d{1,6}$/.test(said)) return Number(said) * 1000;
  const waitMs = Date.parse(said) - Date.parse(String(headers.date));
  return waitMs > 0 ? waitMs : undefined;
}
