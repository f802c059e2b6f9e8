/** One request of a client that is passed to a server behind a URL, and its response. Bytes pass as they are. */

import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { EventSplitter, type StreamEvent } from '../../http/event-stream.ts';
import { hopHeaders } from '../../http/hop-headers.ts';
import { collectParts } from '../../platform/memory.ts';
import { EnvelopeScanner } from '../envelope.ts';
import { messageBytesMax, tokenBytesMax } from '../limits.ts';
import { errorCodes, type MessageId, makeErrorLine, normalizeId, parseLine, readId, readObject } from '../message.ts';
import { reasons } from '../refused-result.ts';
import type { Session } from '../session.ts';
import { readEventMessage } from './event-message.ts';
import { describeStatus, type RemoteServer } from './remote-server.ts';
import { isEventStream } from './response-body.ts';

/** Headers that belong to one connection, and those that name this listener instead of the server. */
const ownHeaders = new Set([
  ...hopHeaders,
  ...['expect', 'content-length', 'host', 'origin', 'referer', 'accept-encoding'],
]);

export interface RelayExchangeOptions {
  readonly remote: RemoteServer;
  readonly session: Session;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The requests in the body that wait for answers. */
  readonly ids: readonly MessageId[];
  /** Whether the client cancels a request by closing its response, as since 2026-07-28. */
  readonly isModern: boolean;
  /** Called with the head of the response of the server. */
  readonly onHead: (head: IncomingMessage) => void;
}

export class RelayExchange {
  readonly #options: RelayExchangeOptions;
  readonly #left: Set<MessageId>;
  readonly #controller = new AbortController();
  /** Whether the response of the server itself tells the client what happened. */
  #isMuted = false;
  #isForwarded = false;
  #sawEventId = false;
  /** Whether the session holds an answer back, for example to look at it first. */
  #isHeld = false;

  constructor(options: RelayExchangeOptions) {
    this.#options = options;
    this.#left = new Set(options.ids);
    const { response } = options;
    response.once('close', () => {
      if (response.writableFinished) return;
      this.#isMuted = true;
      this.#controller.abort();
    });
  }

  /** The requests that are not answered. */
  get left(): readonly MessageId[] {
    return [...this.#left];
  }

  /** Whether a client that lost its connection can go on with the stream of its answer. */
  get mayResume(): boolean {
    return !this.#options.isModern && this.#sawEventId;
  }

  get isModern(): boolean {
    return this.#options.isModern;
  }

  get isOpen(): boolean {
    return !this.#isMuted && !this.#options.response.writableEnded;
  }

  /** The headers of the client, for the server. */
  get headers(): OutgoingHttpHeaders {
    return filterHeaders(this.#options.request);
  }

  /** Gives up a request of the server, which is told by the closed connection. */
  abort(): void {
    this.#controller.abort();
  }

  /** Answers a request that was not passed on, because its session is over. */
  loseSession(): void {
    if (!this.#isForwarded) this.#lose('The session is over.', false);
  }

  /** Passes the request on. */
  async forward(body?: Buffer, onSent?: () => void): Promise<void> {
    this.#isForwarded = true;
    const { remote, request, response, ids, onHead } = this.#options;
    const method = request.method as 'GET' | 'POST' | 'DELETE';
    try {
      const { signal } = this.#controller;
      const head = await remote.send({ method, headers: this.headers, body, signal, onSent });
      onHead(head);
      await this.#relay(head);
    } catch (error) {
      if (this.#controller.signal.aborted) return;
      const { code, message } = error as NodeJS.ErrnoException;
      const reason = `The MCP server cannot be reached: ${code ?? message}.`;
      if (ids.length > 0) this.#lose(reason, true);
      // A response of which a part has passed is broken off.
      if (response.headersSent && this.#isMuted) response.destroy();
      else if (ids.length > 0) return;
      else if (!response.headersSent) this.#refuse(502, reason);
      else response.destroy();
    }
  }

  /** Answers a request with a message of our own. */
  answer(id: MessageId, line: Buffer): void {
    const { response, ids } = this.#options;
    this.#left.delete(id);
    if (!this.isOpen) return;
    if (ids.length > 1 || response.headersSent) {
      this.send(line);
      if (this.#left.size === 0) response.end();
      return;
    }
    const body = trimBreak(line);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  }

  /** Sends a message of our own between those of the server. */
  send(line: Buffer): void {
    const { response } = this.#options;
    if (!this.isOpen) return;
    if (!response.headersSent) response.writeHead(200, eventHeaders);
    response.write(makeEvent([], line));
  }

  /** Ends a request that has no answer. */
  accept(): void {
    if (this.isOpen) this.#options.response.writeHead(202).end();
  }

  async #relay(head: IncomingMessage): Promise<void> {
    const { statusCode = 0 } = head;
    const { response, remote } = this.#options;
    if (statusCode >= 300 && statusCode < 400) {
      head.resume();
      this.#isMuted = true;
      const reason = describeStatus(head, remote.url)!;
      this.#lose(reason, true);
      return this.#refuse(502, reason);
    }
    const isSuccess = statusCode >= 200 && statusCode < 300;
    if (isSuccess && isEventStream(head)) return this.#relayEvents(head);
    const body = await this.#collect(head);
    const isFault = statusCode === 404 || statusCode === 429 || statusCode >= 500;
    if (body instanceof EnvelopeScanner) {
      if (isSuccess) this.#endLongBody(body);
      else this.#lose(`HTTP ${statusCode}`, isFault);
      response.end();
      return;
    }
    const isAuth = statusCode === 401 || statusCode === 403;
    if (!isSuccess) this.#isMuted = true;
    const passed = isAuth || statusCode >= 500 ? body : this.#judge(body);
    if (!isSuccess) this.#lose(`HTTP ${statusCode}`, isFault);
    else if (!this.#isHeld && statusCode !== 202) this.#loseUnanswered();
    if (passed === undefined || response.writableEnded || response.destroyed) return;
    if (response.headersSent) {
      if (passed.length > 0) response.write(makeEvent([], passed));
      response.end();
      return;
    }
    response.writeHead(statusCode, { ...filterHeaders(head), 'content-length': passed.length });
    response.end(passed);
  }

  /** The body; the members of one that is too long to be held, and was read while it passed. */
  async #collect(head: IncomingMessage): Promise<Buffer | EnvelopeScanner> {
    const { response, session } = this.#options;
    const parts: Buffer[] = [];
    let size = 0;
    let long: EnvelopeScanner | undefined;
    for await (const part of head as AsyncIterable<Buffer>) {
      size += part.length;
      parts.push(part);
      if (long === undefined) {
        // Between events of our own a body becomes an event.
        if (size <= (response.headersSent ? messageBytesMax : session.fromServer.bytesMax)) continue;
        this.#checkLong();
        if (response.headersSent) throw new Error('its answer is too long to be read');
        this.#isMuted = true;
        const length = head.headers['content-length'];
        response.writeHead(head.statusCode ?? 502, {
          ...filterHeaders(head),
          ...(length !== undefined && { 'content-length': length }),
        });
        long = new EnvelopeScanner();
      }
      for (const each of parts.splice(0)) {
        long.scan(each);
        collectParts(each.length);
        if (!response.write(each)) await drained(response);
      }
    }
    return long ?? (parts.length === 1 ? parts[0]! : Buffer.concat(parts));
  }

  /** Settles the requests that a long body answers. A page for people answers none. */
  #endLongBody(body: EnvelopeScanner): void {
    this.#endLong(body);
    const isMessage = body.top === 'object' || body.top === 'array';
    this.#lose(isMessage ? 'the answer is too long to be read' : reasons.noAnswer, !isMessage);
  }

  /** Settles the request that a long message answers. */
  #endLong(message: EnvelopeScanner): void {
    this.#options.session.fromServer.endLongLine(message, 'pass');
    const id = message.method === undefined ? normalizeId(message.id) : undefined;
    if (id !== undefined) this.#left.delete(id);
  }

  async #relayEvents(head: IncomingMessage): Promise<void> {
    const { response, ids, session } = this.#options;
    if (!response.headersSent) response.writeHead(head.statusCode ?? 200, filterHeaders(head));
    response.flushHeaders();
    const splitter = new EventSplitter();
    /** The message of an event that is too long to be held: it is read while it passes. */
    let long: EnvelopeScanner | undefined;
    for await (const chunk of head as AsyncIterable<Buffer>) {
      for (const event of splitter.push(chunk)) {
        if (long === undefined) this.#relayEvent(event);
        else {
          long.scan(event.raw);
          response.write(event.raw);
          this.#endLong(long);
          long = undefined;
        }
      }
      if (splitter.heldBytes > (long === undefined ? session.fromServer.bytesMax : 0)) {
        this.#checkLong();
        const held = splitter.takeHeld();
        long = long === undefined ? this.#beginLong(held) : scanned(long, held);
        response.write(held);
      }
      collectParts(chunk.length);
      if (response.writableNeedDrain) await drained(response);
    }
    const rest = splitter.takeHeld();
    if (rest.length > 0) response.write(rest);
    if (this.#isHeld && this.#left.size > 0) return;
    // A client goes on with a stream whose events have ids.
    if (ids.length > 0 && !this.#sawEventId) this.#lose('The MCP server ended the stream before it answered.', true);
    response.end();
  }

  /** Reads the beginning of a long event: its fields before the data, and the beginning of its message. */
  #beginLong(held: Buffer): EnvelopeScanner {
    const fields = held.toString('latin1', 0, tokenBytesMax);
    const data = /(?:^|[\r\n])data: ?/.exec(fields);
    const from = data === null ? held.length : data.index + data[0].length;
    if (/(?:^|[\r\n])id: ?[^\r\n]/.test(fields.slice(0, from))) this.#sawEventId = true;
    return scanned(new EnvelopeScanner(), held.subarray(from));
  }

  /** Throws if what is too long to be read may be a list that the policy limits. */
  #checkLong(): void {
    if (this.#options.session.fromServer.readLongLine(new EnvelopeScanner()) === 'drop')
      throw new Error('its answer is too long to be checked');
  }

  #relayEvent(event: StreamEvent): void {
    const { response } = this.#options;
    const { raw, id } = event;
    const data = readEventMessage(event);
    if (id) this.#sawEventId = true;
    if (data === undefined || data.length === 0) {
      response.write(raw);
      return;
    }
    const passed = this.#judge(data);
    if (passed === data) response.write(raw);
    else if (passed !== undefined) response.write(makeEvent(id ? [`id: ${id}`] : [], passed));
  }

  /** Shows a message of the server to the session; returns what passes. */
  #judge(message: Buffer): Buffer | undefined {
    const { session } = this.#options;
    if (message.length === 0) return message;
    const verdict = session.fromServer.readLine(message);
    const parsed = this.#left.size === 0 ? undefined : parseLine(message);
    for (const each of Array.isArray(parsed) ? parsed : [parsed]) {
      const answer = readObject(each);
      const id = answer === undefined || answer.method !== undefined ? undefined : readId(answer, message);
      if (id === undefined || !this.#left.has(id)) continue;
      // An answer that is held back comes later, from the session.
      if (verdict === 'drop') this.#isHeld = true;
      else this.#left.delete(id);
    }
    if (verdict === 'pass') return message;
    return verdict === 'drop' ? undefined : trimBreak(verdict);
  }

  /** Settles requests that a whole response does not answer, such as a page for people. The client gets that page. */
  #loseUnanswered(): void {
    if (this.#left.size === 0) return;
    this.#isMuted = true;
    this.#lose(reasons.noAnswer, true);
  }

  /** Settles the requests that are not answered, and answers them unless the response itself does. */
  #lose(reason: string, isServersFault: boolean): void {
    for (const id of [...this.#left]) {
      this.#options.session.loseRequest(id, reason, isServersFault);
      // The session does not know the request any more: another request has ended it.
      if (this.#left.has(id)) this.answer(id, makeErrorLine(id, errorCodes.serverLost, reason));
    }
  }

  #refuse(status: number, message: string): void {
    const { response } = this.#options;
    if (response.headersSent) {
      response.end();
      return;
    }
    const body = JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null });
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  }
}

const eventHeaders = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' };

function makeEvent(fields: readonly string[], message: Buffer): Buffer {
  const head = ['event: message', ...fields, 'data: '].join('\n');
  return Buffer.concat([Buffer.from(head), trimBreak(message), Buffer.from('\n\n')]);
}

function trimBreak(line: Buffer): Buffer {
  return line.at(-1) === 0x0a ? line.subarray(0, -1) : line;
}

/** The headers of a message that are for both ends of the way. */
function filterHeaders({ headersDistinct, headers }: IncomingMessage): OutgoingHttpHeaders {
  const named = new Set((headers.connection ?? '').toLowerCase().split(/\s*,\s*/));
  const kept = Object.entries(headersDistinct).filter(
    ([name]) => !ownHeaders.has(name) && !named.has(name) && !name.startsWith('sec-fetch-'),
  );
  return Object.fromEntries(kept.map(([name, values]) => [name, values?.length === 1 ? values[0] : values]));
}

function scanned(scanner: EnvelopeScanner, bytes: Buffer): EnvelopeScanner {
  scanner.scan(bytes);
  return scanner;
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
    if (response.destroyed) done();
  });
}
