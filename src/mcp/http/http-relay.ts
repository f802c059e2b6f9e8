/**
 * Clients that connect by HTTP, before a server behind a URL. Ids and session ids of both sides stay as they are: each
 * request has one response, which is passed on as it comes.
 */

import { createHash } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { HttpError } from '../../http/http-error.ts';
import { systemClock } from '../../platform/system-clock.ts';
import type { Judge } from '../judge.ts';
import { notifyMs, onceSessionsMax, relaySessionsMax, resumeWaitMs } from '../limits.ts';
import {
  isModern,
  type MessageId,
  normalizeId,
  parseLine,
  type RpcMessage,
  readClientName,
  readId,
  readObject,
  readRequestIds,
} from '../message.ts';
import { Session } from '../session.ts';
import type { SessionPorts } from '../session-ports.ts';
import type { ClientHandler } from './listener.ts';
import { RelayExchange } from './relay-exchange.ts';
import { describeStatus, type RemoteServer } from './remote-server.ts';
import { readFirstAnswer } from './response-body.ts';
import type { StdioBridgeOptions } from './stdio-bridge.ts';

export interface HttpRelayOptions extends Pick<StdioBridgeOptions, 'openJudge' | 'onJudgeFailed' | 'report'> {
  readonly remote: RemoteServer;
}

const emptyBody = Buffer.alloc(0);

/** One session, or one request of a client without a session. */
class RelaySession {
  readonly session: Session;
  readonly exchanges = new Map<MessageId, RelayExchange>();
  /** The open stream of messages that belong to no request. */
  listening: RelayExchange | undefined;
  usedMs = systemClock.nowMs();
  /** Streams that clients go on with after they broke off, on which an answer may come. */
  resumed = 0;
  /** The headers of the newest request, for requests of our own. */
  headers: OutgoingHttpHeaders = {};
  readonly #remote: RemoteServer;

  constructor(remote: RemoteServer, ports: Pick<SessionPorts, 'openJudge' | 'onJudgeFailed' | 'report'>) {
    this.#remote = remote;
    this.session = new Session({
      ...ports,
      toClient: (line) => this.#answerClient(line),
      toServer: (line) => this.#tellServer(line),
    });
  }

  /** Gives up requests whose client has left, unless it goes on with their stream in time. */
  leave(ids: readonly MessageId[], mayResume: boolean): void {
    if (ids.length === 0) return;
    if (mayResume) {
      systemClock.after(resumeWaitMs, () => this.leave(ids, this.resumed > 0));
      return;
    }
    for (const id of ids) if (!this.exchanges.has(id)) this.session.loseRequest(id, 'the client has left', false);
  }

  /** An own message: an answer to its request; a question to an open stream. */
  #answerClient(line: Buffer): void {
    const message = (parseLine(line) ?? {}) as RpcMessage;
    const id = message.method === undefined ? readId(message, line) : undefined;
    if (id !== undefined) {
      const exchange = this.exchanges.get(id);
      this.exchanges.delete(id);
      exchange?.answer(id, line);
      return;
    }
    const open = [...this.exchanges.values()].filter((each) => each.isOpen);
    (this.listening?.isOpen ? this.listening : open.at(-1))?.send(line);
  }

  /** A call that was held passes now, or the server is told that nobody waits any more. */
  #tellServer(line: Buffer): void {
    const parsed = parseLine(line);
    const message = readObject(parsed) ?? {};
    if (message.method !== 'notifications/cancelled') {
      const ids = readRequestIds(parsed, line);
      const exchange = ids.map((id) => this.exchanges.get(id)).find((each) => each !== undefined);
      if (exchange === undefined) void this.#send(this.headers, line);
      else void exchange.forward(line);
      return;
    }
    const id = normalizeId(JSON.stringify(readObject(message.params)?.requestId));
    const exchange = id === undefined ? undefined : this.exchanges.get(id);
    if (exchange === undefined) return;
    if (exchange.isModern) exchange.abort();
    else void this.#send(exchange.headers, line);
  }

  /** Sends a message of our own; its answer is for the session alone. */
  async #send(headers: OutgoingHttpHeaders, body: Buffer): Promise<void> {
    const signal = AbortSignal.timeout(notifyMs);
    try {
      const answer = await readFirstAnswer(await this.#remote.send({ method: 'POST', headers, body, signal }));
      if (answer !== undefined) this.session.fromServer.readLine(Buffer.from(JSON.stringify(answer)));
    } catch {
      // The server is gone, which the next request of the client tells.
    }
  }
}

/** Whether no request of a session is open. */
function isLeft({ exchanges }: RelaySession): boolean {
  return exchanges.size === 0;
}

export class HttpRelay implements ClientHandler {
  readonly #options: HttpRelayOptions;
  readonly #sessions = new Map<string, RelaySession>();
  /** The judges of clients without sessions, longest unused first. */
  readonly #judges = new Map<string, { readonly judge: Promise<Judge>; readonly end: () => void }>();
  /** Requests of clients without sessions that are open, or that a later request may continue; by client. */
  readonly #once = new Map<RelaySession, string>();
  readonly #endings = new WeakMap<RelaySession, () => void>();
  #reported: string | undefined;

  constructor(options: HttpRelayOptions) {
    this.#options = options;
  }

  post(request: IncomingMessage, response: ServerResponse, body: Buffer): void | Promise<void> {
    const parsed = parseLine(body);
    if (parsed === undefined) throw new HttpError(400, 'invalid_json', 'the body of the request is no message');
    const message = readObject(parsed);
    const isHandshake = message?.method === 'initialize';
    const relay = this.#find(request, message, isHandshake, body);
    const ids = readRequestIds(parsed, body);
    const exchange = new RelayExchange({
      ...{ remote: this.#options.remote, session: relay.session, request, response, ids },
      isModern: isModern(readObject(message?.params)),
      onHead: (head) => this.#readHead(relay, request, head, isHandshake),
    });
    for (const id of ids) relay.exchanges.set(id, exchange);
    relay.headers = exchange.headers;
    response.once('close', () => {
      for (const id of ids) if (relay.exchanges.get(id) === exchange) relay.exchanges.delete(id);
      if (!response.writableFinished) relay.leave(exchange.left, exchange.mayResume);
      this.#forgetOnce(relay);
    });
    const verdict = relay.session.fromClient.readLine(body);
    if (verdict !== 'drop')
      return new Promise(
        (resolve) => void exchange.forward(verdict === 'pass' ? body : verdict, resolve).then(resolve),
      );
    if (ids.length === 0) exchange.accept();
  }

  async get(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const relay = this.#find(request, undefined, false);
    const exchange = this.#pass(relay, request, response);
    if (request.headers['last-event-id'] === undefined) {
      relay.listening = exchange;
      return exchange.forward();
    }
    relay.resumed++;
    await exchange.forward().finally(() => relay.resumed--);
  }

  async delete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await this.#pass(this.#find(request, undefined, false), request, response).forward();
  }

  /** Ends all sessions; the server keeps them until the clients end them. */
  close(): void {
    for (const id of [...this.#sessions.keys()]) this.#forget(id);
    for (const relay of this.#once.keys()) relay.session.loseClient();
    for (const { end } of this.#judges.values()) end();
    this.#options.remote.close();
  }

  #pass(relay: RelaySession, request: IncomingMessage, response: ServerResponse): RelayExchange {
    return new RelayExchange({
      ...{ remote: this.#options.remote, session: relay.session, request, response, ids: [], isModern: false },
      onHead: (head) => this.#readHead(relay, request, head, false),
    });
  }

  #find(
    request: IncomingMessage,
    message: RpcMessage | undefined,
    isHandshake: boolean,
    body: Buffer = emptyBody,
  ): RelaySession {
    const id = request.headers['mcp-session-id'];
    if (typeof id !== 'string') return isHandshake ? this.#create() : this.#findOnce(request, message, body);
    const known = this.#sessions.get(id);
    if (known !== undefined) {
      known.usedMs = systemClock.nowMs();
      return known;
    }
    // A session from before the start of this process.
    const relay = this.#create();
    this.#remember(id, relay);
    return relay;
  }

  #create(): RelaySession {
    const { remote, openJudge, ...ports } = this.#options;
    const ended = Promise.withResolvers<void>();
    const relay = new RelaySession(remote, { ...ports, openJudge: (client) => openJudge(client, ended.promise) });
    this.#endings.set(relay, ended.resolve);
    return relay;
  }

  /**
   * A request without a session: its client is known by its name and its credentials alone. A request that continues
   * an earlier one, which waits for a person or was answered with a question, goes on where that one was.
   */
  #findOnce({ headers }: IncomingMessage, message: RpcMessage | undefined, body: Buffer): RelaySession {
    const name = message && readClientName(message);
    const hash = createHash('sha256').update(headers.authorization ?? '');
    const key = `${name ?? ''} ${hash.digest('base64')}`;
    const isCall = message?.method === 'tools/call';
    if (!isCall) return this.#createOnce(key);
    for (const [relay, own] of this.#once) {
      if (own === key && relay.session.parked.isContinued(message, body)) return relay;
      this.#forgetOnce(relay);
    }
    const relay = this.#createOnce(key);
    this.#once.set(relay, key);
    // The oldest one that nobody waits for.
    if (this.#once.size > onceSessionsMax) this.#forgetOnce([...this.#once.keys()].find(isLeft), true);
    return relay;
  }

  /** Forgets a request without a session, unless it is open or a later one may continue it. */
  #forgetOnce(relay: RelaySession | undefined, isExpected = false): void {
    if (relay === undefined || !isLeft(relay) || (relay.session.parked.isExpecting && !isExpected)) return;
    if (this.#once.delete(relay)) relay.session.loseClient();
  }

  #createOnce(key: string): RelaySession {
    const { remote, openJudge, ...ports } = this.#options;
    return new RelaySession(remote, {
      ...ports,
      openJudge: (client) => {
        const known = this.#judges.get(key) ?? this.#openOnce((ended) => openJudge(client, ended), key);
        this.#judges.delete(key);
        this.#judges.set(key, known);
        return known.judge;
      },
    });
  }

  /** Opens the judge of a client without a session, in place of one whose client has no open request. */
  #openOnce(open: (ended: Promise<void>) => Promise<Judge>, key: string) {
    if (this.#judges.size >= relaySessionsMax) {
      const used = new Set(this.#once.values());
      const oldest = [...this.#judges.keys()].find((each) => !used.has(each));
      if (oldest === undefined) throw new HttpError(503, 'busy', 'there are too many clients without sessions', 1);
      this.#judges.get(oldest)!.end();
      this.#judges.delete(oldest);
    }
    const ended = Promise.withResolvers<void>();
    const judge = open(ended.promise);
    const opened = { judge, end: ended.resolve };
    // The next request tries again.
    judge.catch(() => {
      if (this.#judges.get(key) === opened) this.#judges.delete(key);
    });
    return opened;
  }

  #readHead(relay: RelaySession, { method, headers }: IncomingMessage, head: IncomingMessage, isHandshake: boolean) {
    const { statusCode = 0 } = head;
    const begun = head.headers['mcp-session-id'];
    if (isHandshake && statusCode === 200 && typeof begun === 'string') this.#remember(begun, relay);
    const id = headers['mcp-session-id'];
    if (method === 'POST' && id === undefined) this.#report(describeStatus(head, this.#options.remote.url));
    const isOver = statusCode === 404 || (method === 'DELETE' && statusCode < 300);
    if (typeof id === 'string' && isOver) this.#forget(id);
  }

  /** Tells a person what to do about a server that takes no messages, once. */
  #report(advice: string | undefined): void {
    if (advice === undefined || advice === this.#reported) return;
    this.#reported = advice;
    this.#options.report(advice);
  }

  #remember(id: string, relay: RelaySession): void {
    this.#sessions.set(id, relay);
    if (this.#sessions.size <= relaySessionsMax) return;
    const [oldest] = [...this.#sessions].sort(([, one], [, other]) => one.usedMs - other.usedMs);
    this.#forget(oldest![0]);
  }

  #forget(id: string): void {
    const relay = this.#sessions.get(id);
    if (relay === undefined) return;
    this.#sessions.delete(id);
    relay.session.loseClient();
    for (const exchange of [...relay.exchanges.values()]) exchange.loseSession();
    this.#endings.get(relay)?.();
  }
}
