/** Sends one HTTP request and reads a bounded answer; connects only to an address that was checked. */

import type { lookup as systemLookup } from 'node:dns';
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { abilityOutputBytesMax } from '../../core/limits.ts';
import { outputTooLarge } from './ability.ts';
import { type AllowedTarget, privateAddressError } from './http-address.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Resolves a host name to addresses. */
export type DnsLookup = typeof systemLookup;

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Sends a request and reads its answer. An answer may be a redirect; the caller checks the new address. */
export async function sendRequest(
  request: HttpRequest,
  { mayReach }: AllowedTarget,
  lookup: DnsLookup,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const { method, url, headers, body } = request;
  const send = url.protocol === 'https:' ? secureRequest : plainRequest;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    // A new agent per request: no connection stays open, and every connection uses the checked lookup.
    const options = { method, headers, signal, agent: false, lookup: createCheckedLookup(lookup, mayReach) } as const;
    const clientRequest: ClientRequest = send(url, options);
    clientRequest.once('response', resolve).once('error', reject);
    clientRequest.end(body);
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    // Leaving the loop closes the connection.
    if (bytes > abilityOutputBytesMax) throw outputTooLarge(url.host, undefined);
    chunks.push(chunk as Buffer);
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
}

/** Resolves a name once and returns only allowed addresses: a second lookup could return another address. */
function createCheckedLookup(lookup: DnsLookup, mayReach: AllowedTarget['mayReach']): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, []);
      const bad = addresses.find(({ address }) => !mayReach(address));
      if (bad) return done(privateAddressError(host, bad.address) as Error, []);
      const [first] = addresses;
      if (options.all === true) done(null, addresses);
      else done(null, first?.address ?? '', first?.family);
    });
  };
}
