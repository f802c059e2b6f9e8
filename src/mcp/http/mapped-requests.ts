/**
 * Requests of clients without sessions that share a server: each gets an id and a progress token of its own, and the
 * messages of the server get those of the client back. All other bytes stay as they are.
 */

import { usedIdBytesMax, usedIdsMax } from '../limits.ts';
import type { MessageId } from '../message.ts';
import { findSpans, replaceSpans, type Span } from './json-spans.ts';

const tokenPath = 'params _meta progressToken';
const subscription = '_meta io.modelcontextprotocol/subscriptionId';
const requestPaths = new Set(['id', tokenPath]);
const answerPaths = new Set([
  ...['id', 'method', 'params progressToken', 'params requestId'],
  ...[`params ${subscription}`, `result ${subscription}`],
]);

/** The members that tell whose request a message is, and what it does; in small letters and as they must be written. */
const readPaths = new Map(
  ['id', 'method', 'params', 'params _meta', tokenPath].map((path) => [path.toLowerCase(), path] as const),
);

/** Where a message of a client has its id and its token. */
export type RequestSpans = ReadonlyMap<string, Span>;

/**
 * Finds the id and the token of a message; undefined if servers may read them in different ways, since a member is
 * written twice or in other letters: a server could then answer with the id of another client.
 */
export function findRequestSpans(line: Buffer): RequestSpans | undefined {
  const seen = new Set<string>();
  let isPlain = true;
  const spans = findSpans(line, requestPaths, (path) => {
    const plain = path.normalize('NFKC').toLowerCase();
    const known = readPaths.get(plain);
    if (known === undefined) return;
    isPlain &&= path === known && !seen.has(plain);
    seen.add(plain);
  });
  return isPlain ? spans : undefined;
}

/** A request as its client wrote it. */
interface Mapped {
  /** The id and the token, as JSON text. */
  readonly id: string;
  readonly token: string | undefined;
}

export class MappedRequests {
  readonly #requests = new Map<MessageId, Mapped>();
  /** How often clients used an id, oldest first. */
  readonly #uses = new Map<string, number>();
  #count = 0;

  /** Gives a request an id of its own; returns the line for the server. */
  map(line: Buffer, spans: RequestSpans): { readonly id: MessageId; readonly line: Buffer } {
    const own = String(++this.#count);
    const idSpan = spans.get('id')!;
    const tokenSpan = spans.get(tokenPath);
    const textOf = ({ from, to }: Span) => line.toString('utf8', from, to);
    const id = textOf(idSpan);
    this.#requests.set(own, { id, token: tokenSpan && textOf(tokenSpan) });
    this.#countUse(id);
    const texts: (readonly [Span, string])[] = [[idSpan, own]];
    if (tokenSpan !== undefined) texts.push([tokenSpan, own]);
    return { id: own, line: replaceSpans(line, texts) };
  }

  /** The request that a message of the server is for, and the message as its client knows it. */
  restore(line: Buffer, method: unknown): { readonly id: MessageId; readonly line: Buffer } | undefined {
    const spans = findSpans(line, answerPaths);
    const isAnswer = !spans.has('method');
    const isCancelled = method === 'notifications/cancelled';
    const texts: (readonly [Span, string])[] = [];
    let own: MessageId | undefined;
    for (const [path, span] of spans) {
      if (path === 'method' || (path === 'id' && !isAnswer) || (path === 'params requestId' && !isCancelled)) continue;
      const text = line.toString('utf8', span.from, span.to);
      const mapped = this.#requests.get(text);
      const original = path === 'params progressToken' ? mapped?.token : mapped?.id;
      if (original === undefined) continue;
      own ??= text;
      texts.push([span, original]);
    }
    return own === undefined ? undefined : { id: own, line: replaceSpans(line, texts) };
  }

  /** The own id of the open request with an id that was used once: a second one may be that of another client. */
  findOnly(id: MessageId): MessageId | undefined {
    if (this.#uses.get(id) !== 1) return undefined;
    return [...this.#requests].find(([, mapped]) => mapped.id === id)?.[0];
  }

  #countUse(id: string): void {
    if (id.length > usedIdBytesMax) return;
    const uses = this.#uses.get(id) ?? 0;
    this.#uses.delete(id);
    this.#uses.set(id, uses + 1);
    if (this.#uses.size > usedIdsMax) this.#uses.delete(this.#uses.keys().next().value!);
  }

  /** The id of a request as its client knows it. */
  originalOf(id: MessageId): MessageId | undefined {
    return this.#requests.get(id)?.id;
  }

  forget(id: MessageId): void {
    this.#requests.delete(id);
  }
}
