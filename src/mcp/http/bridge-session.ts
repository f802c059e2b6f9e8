/** One session of a client that connects by HTTP, with its own stdio server: finds the response for each message. */

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { HttpError } from '../../http/http-error.ts';
import { systemClock, wait } from '../../platform/system-clock.ts';
import { EnvelopeScanner } from '../envelope.ts';
import {
  backlogBytesMax,
  bodyWaitMs,
  endMs,
  keptStreamsMax,
  lostClientMs,
  messageBytesMax,
  parseBytesMax,
  pendingMax,
  readBytesMax,
  readPollMs,
  serverBacklogBytesMax,
  sessionIdleMs,
} from '../limits.ts';
import { LineSplitter } from '../line-splitter.ts';
import {
  errorCodes,
  type MessageId,
  makeCancelLine,
  makeErrorLine,
  normalizeId,
  parseLine,
  type RpcMessage,
  readCancellation,
  readId,
  readObject,
  scanLine,
} from '../message.ts';
import { reasons } from '../refused-result.ts';
import type { ServerLink } from '../server-link.ts';
import { runStdioProxy } from '../stdio-proxy.ts';
import { ClientStream } from './client-stream.ts';
import { LineInput } from './line-input.ts';
import type { LongMessages } from './long-messages.ts';
import { findRequestSpans, MappedRequests } from './mapped-requests.ts';
import type { StdioBridgeOptions } from './stdio-bridge.ts';

/** A request of the client and the stream of its answer; a list of messages has one stream for all of its requests. */
interface Waiting {
  readonly stream: ClientStream;
  readonly left: Set<MessageId>;
  readonly progressToken: string | undefined;
  readonly isSubscription?: boolean;
}

/** Messages that belong to no request. */
const generalMethods = /^notifications\/(?:[a-z]+\/list_changed|resources\/updated)$/;
/** The first version of which clients expect an event without data. */
const primedVersion = '2025-11-25';

export class BridgeSession {
  readonly id: string;
  /** Resolves when the server and the session have ended. */
  readonly ended: Promise<unknown>;
  usedMs = systemClock.nowMs();
  readonly #input = new LineInput();
  readonly #stop = new AbortController();
  readonly #lines = new LineSplitter(messageBytesMax);
  readonly #longMessages: LongMessages;
  readonly #waiting = new Map<MessageId, Waiting>();
  readonly #kept = new Map<number, ClientStream>();
  readonly #headers: Readonly<Record<string, string>>;
  /** The stream of messages that belong to no request. */
  readonly #general: ClientStream;
  /** The requests of clients that share the server; undefined in a session of one client. */
  readonly #mapped: MappedRequests | undefined;
  #server: ServerLink | undefined;
  #streams = 0;
  #isOver = false;
  #hasListened = false;
  /** Whether the client expects an event without data at the beginning of a stream. */
  #isPrimed = false;

  /** @param isShared Whether clients without sessions share the server. */
  constructor(id: string, options: StdioBridgeOptions, longMessages: LongMessages, isShared = false) {
    this.id = id;
    this.#longMessages = longMessages;
    this.#mapped = isShared ? new MappedRequests() : undefined;
    this.#headers = isShared ? {} : { 'mcp-session-id': id };
    this.#general = new ClientStream(this.#streams, this.#headers, 'later');
    this.#kept.set(this.#streams, this.#general);
    const { start, restarts, openJudge, onJudgeFailed, report } = options;
    const ended = Promise.withResolvers<unknown>();
    this.ended = ended.promise;
    const output = new Writable({
      highWaterMark: backlogBytesMax,
      write: (chunk: Buffer, _encoding, done) => {
        this.#readServer(this.#lines.push(chunk), () => this.#readOn(done));
      },
    });
    const work = runStdioProxy({
      start: async (lose) => {
        const server = await start(lose);
        this.#server = 'input' in server ? server : undefined;
        return server;
      },
      ...{ restarts, onJudgeFailed, report, input: this.#input, output, stopSignal: this.#stop.signal },
      openJudge: (client) => openJudge(client, ended.promise),
    });
    const finish = () => {
      this.#close();
      ended.resolve(undefined);
    };
    void work.then(finish, (error: unknown) => {
      report(`a session ended: ${String(error)}`);
      finish();
    });
  }

  /** Whether the client is there: it listens, or waits for an answer. */
  get isBusy(): boolean {
    if (this.#general.isConnected) return true;
    for (const { stream } of this.#waiting.values()) if (stream.isConnected) return true;
    return false;
  }

  /** How long the session may stay unused: a client that listened and does so no more is probably gone. */
  get idleMs(): number {
    return this.#hasListened ? lostClientMs : sessionIdleMs;
  }

  post(response: ServerResponse, parsed: RpcMessage | readonly unknown[], line: Buffer): void {
    this.usedMs = systemClock.nowMs();
    if (this.#isOver) throw new HttpError(404, 'session_unknown', 'the session has ended');
    if (!this.#general.isConnected) this.#hasListened = false; // It is there without its stream.
    const messages = (Array.isArray(parsed) ? parsed : [parsed]).map(readObject).filter((each) => each !== undefined);
    const requests = messages.filter(({ method }) => typeof method === 'string');
    const ids = requests.map((each) => readId(each, line)).filter((id) => id !== undefined);
    if (ids.some((id) => this.#waiting.has(id)))
      throw new HttpError(400, 'id_in_use', 'a request with this id waits for its answer');
    if (this.#waiting.size + ids.length > pendingMax) throw new HttpError(503, 'busy', reasons.tooMany, 1);
    this.#checkBacklog(line);
    if (ids.length === 0) {
      this.#input.write(line);
      for (const each of messages) if (each.method === 'notifications/cancelled') this.#cancel(each);
      response.writeHead(202).end();
      return;
    }
    if (requests[0]?.method === 'initialize') this.#readVersion(readObject(requests[0].params));
    const number = ++this.#streams;
    const stream: ClientStream = new ClientStream(number, this.#headers, this.#isPrimed ? 'primed' : 'later', () =>
      this.#keep(number, stream),
    );
    const token = readObject(readObject(requests[0]?.params)?._meta)?.progressToken;
    const waiting = { stream, left: new Set(ids), progressToken: JSON.stringify(token) };
    for (const id of ids) this.#waiting.set(id, waiting);
    stream.connect(response, ids.length > 1);
    this.#input.write(line);
  }

  /** Passes a request of a client without a session, which gives it up by closing its response. */
  postShared(response: ServerResponse, message: RpcMessage, line: Buffer): void {
    this.usedMs = systemClock.nowMs();
    const mapped = this.#mapped!;
    const spans = findRequestSpans(line);
    if (spans === undefined) throw new HttpError(400, 'ambiguous', reasons.ambiguous);
    if (message.method === 'notifications/cancelled') {
      const id = mapped.findOnly(readCancellation(message).id ?? '');
      if (id !== undefined) this.#giveUp(id, readCancellation(message).reason);
      response.writeHead(202).end();
      return;
    }
    this.#checkBacklog(line);
    if (readId(message, line) === undefined) {
      this.#input.write(line);
      response.writeHead(202).end();
      return;
    }
    if (this.#isOver || this.#waiting.size >= pendingMax) throw new HttpError(503, 'busy', reasons.tooMany, 1);
    const request = mapped.map(line, spans);
    const stream = new ClientStream(++this.#streams, this.#headers, 'never');
    const isSubscription = message.method === 'subscriptions/listen';
    this.#waiting.set(request.id, { stream, left: new Set([request.id]), progressToken: request.id, isSubscription });
    stream.connect(response, false);
    response.once('close', () => {
      if (!response.writableFinished) this.#giveUp(request.id, 'the client closed the response');
    });
    this.#input.write(request.line);
  }

  #checkBacklog({ length }: Buffer): void {
    if (this.backlogBytes === 0 || this.backlogBytes + length <= serverBacklogBytesMax) return;
    throw new HttpError(503, 'busy', 'the server does not read its messages: wait before the next one', 1);
  }

  /** Tells the server that nobody waits for the answer to a request of a client without a session. */
  #giveUp(id: MessageId, reason: string): void {
    if (!this.#waiting.has(id)) return;
    this.#input.write(makeCancelLine(id, reason));
    this.#answer(id, makeErrorLine(this.#original(id), errorCodes.cancelled, 'the client gave up the request'));
  }

  /** Hands a message of the server to the client whose request it is for; others are for nobody. */
  #routeShared(line: Buffer): ClientStream | undefined {
    const message = parseLine(line);
    const method = readObject(message)?.method;
    const found = message && this.#mapped!.restore(line, method);
    const waiting = found && this.#waiting.get(found.id);
    if (waiting === undefined) return undefined;
    if (method === undefined) return this.#answer(found!.id, found!.line);
    waiting.stream.send(found!.line, false);
    // The server ends a subscription: by HTTP that is the end of its response.
    if (method === 'notifications/cancelled' && waiting.isSubscription) this.#endSubscription(found!.id, waiting);
    return waiting.stream;
  }

  #endSubscription(id: MessageId, { stream }: Waiting): void {
    this.#waiting.delete(id);
    this.#mapped?.forget(id);
    stream.end();
  }

  #original(id: MessageId): MessageId {
    return this.#mapped?.originalOf(id) ?? id;
  }

  /** Resolves when the server has read its messages, or has not for a while. */
  async untilRead(): Promise<void> {
    const untilMs = systemClock.nowMs() + bodyWaitMs;
    do await wait(systemClock, readPollMs);
    while (this.backlogBytes > 0 && !this.#isOver && systemClock.nowMs() < untilMs);
  }

  /** Bytes of messages that the server has not read. */
  get backlogBytes(): number {
    return this.#input.heldBytes + (this.#server?.input.writableLength ?? 0);
  }

  /** Ends the response of a request that the client gave up: the server does not answer it any more. */
  #cancel(message: RpcMessage): void {
    const { id } = readCancellation(message);
    if (id !== undefined) this.#answer(id, makeErrorLine(id, errorCodes.cancelled, 'the client gave up the request'));
  }

  /** Opens the stream of general messages, or goes on with a stream that broke off. */
  listen({ headers }: IncomingMessage, response: ServerResponse): void {
    this.usedMs = systemClock.nowMs();
    const last = headers['last-event-id'];
    if (typeof last !== 'string') {
      if (this.#general.isConnected) throw new HttpError(409, 'stream_open', 'the stream of this session is open');
      this.#hasListened = true;
      response.once('close', () => {
        this.usedMs = systemClock.nowMs();
      });
      this.#general.resume(response);
      return;
    }
    const [, number, after] = /^(\d{1,9})-(\d{1,9})$/.exec(last) ?? [];
    const stream = this.#kept.get(Number(number));
    if (stream === undefined) throw new HttpError(400, 'event_unknown', 'there is no such event in this session');
    stream.resume(response, Number(after));
  }

  /** Ends the server. */
  async end(): Promise<void> {
    this.#input.end();
    // A server that does not read never sees the end of its input.
    const cancel = systemClock.after(endMs, () => this.#stop.abort('SIGTERM'));
    await this.ended;
    cancel();
  }

  #readVersion(params: RpcMessage | undefined): void {
    const version = params?.protocolVersion;
    this.#isPrimed = typeof version === 'string' && version >= primedVersion;
  }

  #keep(number: number, stream: ClientStream): void {
    this.#kept.set(number, stream);
    if (this.#kept.size <= keptStreamsMax) return;
    for (const [other, each] of this.#kept) {
      if (each === this.#general || each.isConnected) continue;
      this.#kept.delete(other);
      break;
    }
  }

  /** Routes the lines of the server, no faster than their clients take them. */
  #readServer(lines: Iterator<Buffer | EnvelopeScanner>, done: () => void): void {
    for (let next = lines.next(); !next.done; next = lines.next()) {
      const line = next.value;
      const stream = line instanceof EnvelopeScanner ? this.#loseLong(line) : this.#route(line);
      if (stream?.keepsLong) this.#longMessages.keepEvents(stream);
      const goOn = () => {
        this.#longMessages.end(this);
        this.#readServer(lines, done);
      };
      const full = stream?.full;
      if (full !== undefined) return void untilTaken(full).then(goOn, goOn);
      this.#longMessages.end(this);
    }
    done();
  }

  /** Reads on, in the middle of a long message when no other session holds one. */
  #readOn(done: () => void): void {
    const turn = this.#lines.heldBytes > readBytesMax ? this.#longMessages.begin(this) : undefined;
    if (turn === undefined) done();
    else void turn.then(done);
  }

  /** Hands a message of the server to the response it belongs to. */
  #route(line: Buffer): ClientStream | undefined {
    if (this.#mapped !== undefined) return this.#routeShared(line);
    const message = line.length > parseBytesMax ? undefined : parseLine(line);
    if (Array.isArray(message)) return this.#routeBatch(message, line);
    const object = message as RpcMessage | undefined;
    const envelope = line.length > parseBytesMax ? scanLine(line) : undefined;
    const method = envelope === undefined ? object?.method : envelope.method;
    const id = envelope === undefined ? object && readId(object, line) : normalizeId(envelope.id);
    if (envelope === undefined && object === undefined) return undefined; // No message: not one for a client.
    if (method === undefined) return this.#answer(id, line);
    const stream = this.#findStream(String(method), object);
    stream.send(line, false);
    return stream;
  }

  #answer(id: MessageId | undefined, line: Buffer): ClientStream | undefined {
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (waiting === undefined || id === undefined) return undefined;
    this.usedMs = systemClock.nowMs();
    this.#waiting.delete(id);
    this.#mapped?.forget(id);
    waiting.left.delete(id);
    waiting.stream.send(line, waiting.left.size === 0);
    return waiting.stream;
  }

  /** Answers to a list of messages may come as a list. */
  #routeBatch(messages: readonly unknown[], line: Buffer): ClientStream | undefined {
    const ids = messages.map((each) => readId(readObject(each) ?? {}, line)).filter((id) => id !== undefined);
    const waiting = ids.map((id) => this.#waiting.get(id)).find((each) => each !== undefined);
    if (waiting === undefined) return undefined;
    for (const id of ids) {
      this.#waiting.delete(id);
      waiting.left.delete(id);
    }
    waiting.stream.send(line, waiting.left.size === 0);
    return waiting.stream;
  }

  /** Progress goes to its request; a message that may belong to a request to the newest one that waits. */
  #findStream(method: string, message: RpcMessage | undefined): ClientStream {
    if (method === 'notifications/progress') {
      const token = JSON.stringify(readObject(message?.params)?.progressToken);
      for (const { progressToken, stream } of this.#waiting.values()) if (progressToken === token) return stream;
    }
    if (generalMethods.test(method) && this.#general.isConnected) return this.#general;
    let newest: ClientStream | undefined;
    for (const { stream } of this.#waiting.values()) if (stream.isConnected) newest = stream;
    return newest ?? this.#general;
  }

  #loseLong({ id, method }: EnvelopeScanner): ClientStream | undefined {
    const known = method === undefined ? normalizeId(id) : undefined;
    if (known === undefined) return undefined;
    return this.#answer(known, makeErrorLine(this.#original(known), errorCodes.tooLong, reasons.tooLong));
  }

  #close(): void {
    this.#isOver = true;
    this.#longMessages.end(this);
    const reason = 'The MCP server could not be started, or has ended.';
    for (const id of [...this.#waiting.keys()])
      this.#answer(id, makeErrorLine(this.#original(id), errorCodes.serverLost, reason));
    for (const stream of this.#kept.values()) stream.end();
    this.#kept.clear();
  }
}

/** Resolves when a client has taken what was written to a response, or has not for a while after its end. */
function untilTaken(response: ServerResponse): Promise<unknown> {
  const events = ['drain', 'finish', 'close'].map((name) => once(response, name));
  return Promise.race(response.writableEnded ? [...events, wait(systemClock, bodyWaitMs)] : events);
}
