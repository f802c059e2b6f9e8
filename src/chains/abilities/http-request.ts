/** One HTTP request and its answer: bound in size, and connected to no other address than one that was looked at. */

import type { lookup as systemLookup } from 'node:dns';
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { abilityOutputBytesMax } from '../../core/limits.ts';
import { tooLarge } from './ability-output.ts';
import { type Allowed, privateAddress } from './http-address.ts';

export interface Exchange {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** How names become addresses. */
export type Lookup = typeof systemLookup;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Sends a request and reads its answer, which a redirect may be; who follows it looks at the new address, too. */
export async function exchange(
  asked: Exchange,
  { mayReach }: Allowed,
  lookup: Lookup,
  signal: AbortSignal,
): Promise<Answer> {
  const { method, url, headers, body } = asked;
  const send = url.protocol === 'https:' ? secureRequest : plainRequest;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    // An agent of its own: no connection stays open, and each is looked up here.
    const how = { method, headers, signal, agent: false, lookup: careful(lookup, mayReach) } as const;
    const request: ClientRequest = send(url, how);
    request.once('response', resolve).once('error', reject);
    request.end(body);
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > abilityOutputBytesMax) throw tooLarge(url.host, undefined); // Leaving the loop ends the connection.
    chunks.push(chunk as Buffer);
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
}

/** Looks a name up once, and hands on only what may be reached: a second look could give another answer. */
function careful(lookup: Lookup, mayReach: Allowed['mayReach']): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error) return done(error, []);
      const bad = found.find(({ address }) => !mayReach(address));
      if (bad) return done(privateAddress(host, bad.address) as Error, []);
      const [first] = found;
      if (options.all === true) done(null, found);
      else done(null, first?.address ?? '', first?.family);
    });
  };
}
