/**
 * Clients that connect by HTTP, before a stdio server. Each session of a client has a server process of its own.
 * Clients without sessions, as since 2026-07-28, share one if they agree in name and credentials: their ids, progress
 * tokens and subscriptions are mapped, so that they are never mixed.
 */

import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpError } from '../../http/http-error.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { backlogsBytesMax, bridgeSessionsMax, replacedIdleMs, sessionSweepMs } from '../limits.ts';
import { isModern, type RpcMessage, readAhead, readClientName, readObject } from '../message.ts';
import type { StartServer } from '../server-link.ts';
import type { SessionPorts } from '../session-ports.ts';
import { BridgeSession } from './bridge-session.ts';
import type { ClientHandler } from './listener.ts';
import { LongMessages } from './long-messages.ts';
import { checkMessageHeaders } from './message-headers.ts';
import { endLine, isShortBody } from './request-body.ts';

export interface StdioBridgeOptions {
  readonly start: StartServer;
  readonly restarts: boolean;
  /** Opens the judge of a session, until the session has ended. */
  readonly openJudge: (
    client: Parameters<SessionPorts['openJudge']>[0],
    ended: Promise<unknown>,
  ) => ReturnType<SessionPorts['openJudge']>;
  readonly onJudgeFailed: SessionPorts['onJudgeFailed'];
  readonly report: (line: string) => void;
}

export class StdioBridge implements ClientHandler {
  readonly #options: StdioBridgeOptions;
  readonly #sessions = new Map<string, BridgeSession>();
  readonly #longMessages = new LongMessages();
  /** The servers of clients without sessions. */
  readonly #shared = new Map<string, BridgeSession>();
  #cancelSweep: () => void;

  constructor(options: StdioBridgeOptions) {
    this.#options = options;
    this.#cancelSweep = this.#sweepLater();
  }

  post(request: IncomingMessage, response: ServerResponse, body: Buffer): void | Promise<void> {
    this.#checkBacklog(body.length);
    const line = endLine(body);
    const parsed = readAhead(line);
    if (parsed === undefined) throw new HttpError(400, 'invalid_json', 'the body of the request is no message');
    const message = Array.isArray(parsed) ? undefined : (parsed as RpcMessage);
    const isHandshake = message?.method === 'initialize';
    if (isHandshake && request.headers['mcp-session-id'] === undefined) {
      this.#begin().post(response, parsed, line);
      return;
    }
    if (request.headers['mcp-session-id'] === undefined && isModern(readObject(message?.params))) {
      checkMessageHeaders(request, message!);
      const shared = this.#findShared(request, message!);
      shared.postShared(response, message!, line);
      return isShortBody(body.length) ? undefined : shared.untilRead();
    }
    const session = this.#find(request);
    session.post(response, parsed, line);
    if (!isShortBody(body.length)) return session.untilRead();
  }

  /** Limits what is held for servers that do not read. */
  #checkBacklog(more: number): void {
    let bytes = more;
    for (const { backlogBytes } of this.#sessions.values()) bytes += backlogBytes;
    if (bytes > more && bytes > backlogsBytesMax)
      throw new HttpError(503, 'busy', 'the servers do not read their messages: wait before the next one', 1);
  }

  get(request: IncomingMessage, response: ServerResponse): void {
    this.#find(request).listen(request, response);
  }

  async delete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = this.#find(request);
    this.#sessions.delete(session.id);
    await session.end();
    response.writeHead(200).end();
  }

  /** Ends all sessions with their servers. */
  async close(): Promise<void> {
    this.#cancelSweep();
    await Promise.all([...this.#sessions.values()].map((session) => session.end()));
  }

  #find({ headers }: IncomingMessage): BridgeSession {
    const id = headers['mcp-session-id'];
    if (typeof id !== 'string') throw new HttpError(400, 'session_missing', 'the header mcp-session-id is missing');
    const session = this.#sessions.get(id);
    if (session === undefined) throw new HttpError(404, 'session_unknown', 'there is no such session');
    return session;
  }

  /** The server of a client without a session, which is known by its name and its credentials alone. */
  #findShared({ headers }: IncomingMessage, message: RpcMessage): BridgeSession {
    const hash = createHash('sha256').update(headers.authorization ?? '');
    const key = `${readClientName(message) ?? ''} ${hash.digest('base64')}`;
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const session = this.#begin(true);
    this.#shared.set(key, session);
    void session.ended.then(() => {
      if (this.#shared.get(key) === session) this.#shared.delete(key);
    });
    return session;
  }

  #begin(isShared = false): BridgeSession {
    if (this.#sessions.size >= bridgeSessionsMax) this.#endIdle(1, replacedIdleMs);
    if (this.#sessions.size >= bridgeSessionsMax)
      throw new HttpError(503, 'busy', `there are ${bridgeSessionsMax} sessions already`, 1);
    const session = new BridgeSession(randomUUID(), this.#options, this.#longMessages, isShared);
    this.#sessions.set(session.id, session);
    void session.ended.then(() => this.#sessions.delete(session.id));
    return session;
  }

  /** Ends sessions that have not been used for some time, longest unused first. */
  #endIdle(most: number, leastMs?: number): void {
    const nowMs = systemClock.nowMs();
    const idle = [...this.#sessions.values()].filter(
      (each) => !each.isBusy && nowMs - each.usedMs >= (leastMs ?? each.idleMs),
    );
    for (const session of idle.sort((one, other) => one.usedMs - other.usedMs).slice(0, most)) {
      this.#sessions.delete(session.id);
      for (const [key, each] of this.#shared) if (each === session) this.#shared.delete(key);
      void session.end();
    }
  }

  #sweepLater(): () => void {
    return systemClock.after(sessionSweepMs, () => {
      this.#endIdle(bridgeSessionsMax);
      this.#cancelSweep = this.#sweepLater();
    });
  }
}
