/**
 * A server behind a URL, as the lines of a stdio server: each line of the client is sent by a POST, and each message of
 * the responses and of the stream of the server becomes a line.
 */

import { once } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { PassThrough, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { EventSplitter } from '../../http/event-stream.ts';
import { systemClock, wait, waitFor } from '../../platform/system-clock.ts';
import type { ProcessExit } from '../../supervisor/child.ts';
import {
  backlogBytesMax,
  callBytesMax,
  deleteMs,
  endMs,
  handshakeMs,
  joinedBytesMax,
  listBytesMax,
  messageBytesMax,
  notifyMs,
  readBytesMax,
  resumeMaxMs,
  resumeMs,
  resumesMax,
} from '../limits.ts';
import { LineSplitter } from '../line-splitter.ts';
import {
  isModern,
  type MessageId,
  normalizeId,
  parseLine,
  type RpcMessage,
  readId,
  readObject,
  scanLine,
} from '../message.ts';
import { reasons } from '../refused-result.ts';
import type { LoseRequest, ServerLink } from '../server-link.ts';
import { readEventMessage, toLine } from './event-message.ts';
import { makeMessageHeaders } from './message-headers.ts';
import { ParamHeaders } from './param-headers.ts';
import { describeStatus, type RemoteServer } from './remote-server.ts';
import { collectBody, drain, isEventStream, readFirstAnswer } from './response-body.ts';

export interface HttpLinkOptions {
  readonly remote: RemoteServer;
  /** Prints a line for a person. */
  readonly report: (line: string) => void;
  /** Settles and answers a request that the server did not answer. */
  readonly lose: LoseRequest;
}

/** A message of the client on its way. */
interface Outgoing {
  readonly body: Buffer;
  readonly message: RpcMessage | undefined;
  /** The requests in it that wait for answers. */
  readonly wanted: Set<MessageId>;
}

export class HttpServerLink implements ServerLink {
  readonly input: Writable;
  readonly output = new PassThrough({ highWaterMark: backlogBytesMax });
  readonly ended: Promise<ProcessExit>;
  readonly #options: HttpLinkOptions;
  readonly #resolveEnded: (exit: ProcessExit) => void;
  readonly #closing = new AbortController();
  readonly #open = new Map<MessageId, AbortController>();
  readonly #exchanges = new Set<Promise<void>>();
  readonly #lines = new LineSplitter(callBytesMax);
  readonly #paramHeaders = new ParamHeaders();
  #sessionId: string | undefined;
  #version: string | undefined;
  /** The handshake of the client, for another session with the server. */
  #initialize: Outgoing | undefined;
  #initialized: Outgoing | undefined;
  #answer: string | undefined;
  #renewing: Promise<boolean> | undefined;
  #listening: AbortController | undefined;
  #reported = '';

  constructor(options: HttpLinkOptions) {
    this.#options = options;
    const ended = Promise.withResolvers<ProcessExit>();
    this.ended = ended.promise;
    this.#resolveEnded = ended.resolve;
    this.input = new Writable({
      highWaterMark: backlogBytesMax,
      write: (chunk: Buffer, _encoding, done) => void this.#readLines(chunk).then(() => done(), done),
    });
    this.input.on('error', () => undefined); // A line after the end.
    this.output.setMaxListeners(0); // Each answer waits for a slow client.
  }

  async end(): Promise<void> {
    await waitFor(systemClock, this.#finish(), endMs);
    this.#closing.abort();
    const sessionId = this.#sessionId;
    this.#sessionId = undefined;
    if (sessionId !== undefined) await this.#delete(sessionId);
    this.output.end();
    this.#options.remote.close();
    this.#resolveEnded({ code: 0, signal: null });
  }

  /** Sends the lines that wait for their turn, and waits for the answers. */
  async #finish(): Promise<void> {
    // The last line may have no line break.
    if (!this.input.writableEnded) this.input.end('\n');
    await finished(this.input).catch(() => undefined);
    await Promise.allSettled([...this.#exchanges]);
  }

  signal(): Promise<void> {
    return this.end();
  }

  async #delete(sessionId: string): Promise<void> {
    const headers = { 'mcp-session-id': sessionId, ...(this.#version && { 'mcp-protocol-version': this.#version }) };
    try {
      const signal = AbortSignal.timeout(deleteMs);
      await drain(await this.#options.remote.send({ method: 'DELETE', headers, signal }));
    } catch {
      // The server ends a session that is not used by itself.
    }
  }

  async #readLines(chunk: Buffer): Promise<void> {
    for (const line of this.#lines.push(chunk)) {
      if (Buffer.isBuffer(line)) await this.#dispatch(line);
      else this.#lose([normalizeId(line.id)], reasons.tooLong, false);
    }
  }

  /**
   * Sends a message. Resolves when the next one may be sent, so that they reach the server in order: a request must
   * have been written; a handshake, a notification or an answer must have been answered.
   */
  async #dispatch(body: Buffer): Promise<void> {
    const outgoing = readOutgoing(body);
    const { message, wanted } = outgoing;
    if (body.length === 0) return;
    if (message?.method === 'notifications/cancelled' && this.#cancelModern(message)) return;
    if (message?.method === 'initialize') this.#initialize = outgoing;
    if (message?.method === 'notifications/initialized') this.#initialized = outgoing;
    const sent = Promise.withResolvers<void>();
    const done = this.#exchange(outgoing, sent.resolve);
    this.#exchanges.add(done);
    void done.then(() => this.#exchanges.delete(done));
    const isWaitedFor = wanted.size === 0 || message?.method === 'initialize';
    const limitMs = wanted.size === 0 ? notifyMs : handshakeMs;
    await waitFor(systemClock, isWaitedFor ? done : Promise.race([sent.promise, done]), limitMs);
  }

  /** Since 2026-07-28 a request is cancelled by closing its response. */
  #cancelModern({ params }: RpcMessage): boolean {
    const id = normalizeId(JSON.stringify(readObject(params)?.requestId));
    const controller = id === undefined ? undefined : this.#open.get(id);
    controller?.abort();
    return controller !== undefined;
  }

  async #exchange(outgoing: Outgoing, onSent: () => void): Promise<void> {
    const { message, wanted } = outgoing;
    const controller = new AbortController();
    const [id] = wanted;
    const isCancelable = id !== undefined && isModern(readObject(message?.params));
    if (isCancelable) this.#open.set(id, controller);
    const signal = AbortSignal.any([controller.signal, this.#closing.signal]);
    try {
      await this.#post(outgoing, signal, onSent);
    } catch (error) {
      if (!signal.aborted) this.#lose(wanted, `The MCP server cannot be reached: ${describe(error)}.`, true);
    } finally {
      if (isCancelable && this.#open.get(id) === controller) this.#open.delete(id);
    }
  }

  async #post(outgoing: Outgoing, signal: AbortSignal, onSent?: () => void, isAgain = false): Promise<void> {
    const { body, message, wanted } = outgoing;
    const isHandshake = message?.method === 'initialize';
    const sessionId = isHandshake ? undefined : this.#sessionId;
    const headers = { ...makeMessageHeaders(message, sessionId, this.#version), ...this.#paramHeaders.make(message) };
    const response = await this.#options.remote.send({ method: 'POST', headers, body, signal, onSent });
    const { statusCode = 0 } = response;
    if (statusCode === 404 && sessionId !== undefined && !isAgain) {
      await drain(response);
      if (await this.#renew(sessionId)) return this.#post(outgoing, signal, undefined, true);
      return this.#lose(wanted, 'The MCP server has forgotten the session and does not begin another one.', true);
    }
    if (statusCode < 200 || statusCode > 299) return this.#readFailure(response, outgoing);
    if (isHandshake) this.#readSession(response);
    if (message?.method === 'notifications/initialized') void this.#listen();
    if (isEventStream(response)) return this.#readEvents(response, wanted, signal);
    const answer = await collectBody(response, messageBytesMax);
    if (statusCode === 202) return;
    const line = toLine(answer);
    if (isMessage(line)) await this.#deliver(line, wanted);
    // For example a page for people to sign in.
    this.#lose(wanted, reasons.noAnswer, true);
  }

  #readSession({ headers }: IncomingMessage): void {
    const id = headers['mcp-session-id'];
    this.#sessionId = typeof id === 'string' ? id : undefined;
    this.#version = undefined;
  }

  /** A status that is no success: the error in the body if it is one of JSON-RPC, else a sentence. */
  async #readFailure(response: IncomingMessage, { wanted }: Outgoing): Promise<void> {
    const { statusCode = 0 } = response;
    const advice = describeStatus(response, this.#options.remote.url);
    const body = await collectBody(response, callBytesMax);
    const error = readObject(readObject(parseLine(body))?.error);
    const isOwn = wanted.has(readId((parseLine(body) ?? {}) as RpcMessage, body) ?? '');
    if (isOwn && error !== undefined && statusCode !== 401 && statusCode !== 403 && statusCode < 500)
      return this.#deliver(toLine(body), wanted);
    const detail = typeof error?.message === 'string' ? `: ${error.message}` : '';
    const reason = advice ?? `The MCP server answered with HTTP ${statusCode}${detail}.`;
    if (advice !== undefined) this.#report(advice);
    this.#lose(wanted, reason, statusCode === 404 || statusCode === 429 || statusCode >= 500);
  }

  /**
   * Reads a stream until it ends, and goes on with it where it broke off while answers are missing.
   * @param wanted Absent for the stream of the server, which never has all of its messages.
   */
  async #readEvents(first: IncomingMessage, wanted: Set<MessageId> | undefined, signal: AbortSignal): Promise<void> {
    let response: IncomingMessage | undefined = first;
    let lastId: string | undefined;
    let retryMs = resumeMs;
    for (let attempts = 0; ; attempts++) {
      if (response !== undefined) {
        const splitter = new EventSplitter();
        try {
          for await (const chunk of response as AsyncIterable<Buffer>) {
            for (const event of splitter.push(chunk)) {
              const data = readEventMessage(event);
              attempts = 0;
              lastId = event.id || lastId;
              retryMs = event.retryMs ?? retryMs;
              if (data !== undefined && data.length > 0) await this.#deliver(toLine(data), wanted);
            }
            if (splitter.heldBytes > messageBytesMax) throw new Error('an event is too long');
          }
        } catch (error) {
          if (signal.aborted) return;
          if (lastId === undefined && wanted !== undefined)
            return this.#lose(wanted, `The stream broke off: ${describe(error)}.`, true);
        }
      }
      if (wanted?.size === 0 || signal.aborted) return;
      if (attempts >= resumesMax || (lastId === undefined && wanted !== undefined))
        return this.#lose(wanted ?? [], 'The MCP server ended the stream before it answered.', true);
      await wait(systemClock, Math.min(retryMs * 2 ** Math.max(attempts - 1, 0), resumeMaxMs), signal);
      response = await this.#resume(lastId, signal);
    }
  }

  async #resume(lastId: string | undefined, signal: AbortSignal): Promise<IncomingMessage | undefined> {
    const headers: OutgoingHttpHeaders = {
      accept: 'text/event-stream',
      ...(this.#sessionId && { 'mcp-session-id': this.#sessionId }),
      ...(this.#version && { 'mcp-protocol-version': this.#version }),
      ...(lastId && { 'last-event-id': lastId }),
    };
    try {
      const response = await this.#options.remote.send({ method: 'GET', headers, signal });
      if (response.statusCode === 200 && isEventStream(response)) return response;
      await drain(response);
    } catch {
      // Tried again, or given up by the caller.
    }
    return undefined;
  }

  /** Opens the stream of messages that belong to no request, and opens it again when it ends. */
  async #listen(): Promise<void> {
    this.#listening?.abort();
    const own = new AbortController();
    this.#listening = own;
    const signal = AbortSignal.any([own.signal, this.#closing.signal]);
    const response = await this.#resume(undefined, signal);
    if (response !== undefined) await this.#readEvents(response, undefined, signal);
  }

  /** Begins another session with the handshake of the client. Resolves with whether the server did. */
  #renew(lost: string): Promise<boolean> {
    if (this.#sessionId !== lost && this.#renewing === undefined) return Promise.resolve(true);
    this.#renewing ??= this.#repeatHandshake().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #repeatHandshake(): Promise<boolean> {
    const { remote } = this.#options;
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(handshakeMs)]);
    if (this.#initialize === undefined) return false;
    const { body, message } = this.#initialize;
    try {
      const headers = makeMessageHeaders(message, undefined, undefined);
      const response = await remote.send({ method: 'POST', headers, body, signal });
      if (response.statusCode !== 200) return false;
      const before = this.#answer;
      this.#readSession(response);
      if (!this.#readHandshake(await readFirstAnswer(response))) return false;
      if (this.#answer !== before) this.#report('the MCP server introduces itself in another way than before');
      if (this.#initialized !== undefined) await this.#post(this.#initialized, signal, undefined, true);
      return true;
    } catch {
      return false;
    }
  }

  #readHandshake(answer: RpcMessage | undefined): boolean {
    const result = readObject(answer?.result);
    if (result === undefined) return false;
    this.#answer = JSON.stringify(result);
    this.#version = typeof result.protocolVersion === 'string' ? result.protocolVersion : undefined;
    return true;
  }

  /** Hands a message to the client. */
  async #deliver(line: Buffer, wanted: Set<MessageId> | undefined): Promise<void> {
    if (wanted !== undefined && line.length > listBytesMax) {
      const { id, method } = scanLine(line);
      const answered = method === undefined ? normalizeId(id) : undefined;
      if (answered !== undefined) wanted.delete(answered);
    } else if (wanted !== undefined && wanted.size > 0) {
      const message = parseLine(line);
      for (const each of Array.isArray(message) ? message : [message]) {
        const answer = readObject(each);
        if (answer === undefined || answer.method !== undefined) continue;
        const id = readId(answer, line);
        if (id === undefined || !wanted.delete(id)) continue;
        if (this.#initialize?.wanted === wanted) this.#readHandshake(answer);
        this.#paramHeaders.readList(answer.result);
      }
    }
    // A long message is read while its parts pass; a list of messages is read as a whole.
    const partBytes = line.length > readBytesMax && line[0] !== listStart ? joinedBytesMax : line.length;
    let isFull = false;
    for (let at = 0; at < line.length; at += partBytes) isFull = !this.output.write(line.subarray(at, at + partBytes));
    if (isFull) await Promise.race([once(this.output, 'drain'), once(this.#closing.signal, 'abort')]);
  }

  #lose(ids: Iterable<MessageId | undefined>, reason: string, isServersFault: boolean): void {
    for (const id of ids) if (id !== undefined) this.#options.lose(id, reason, isServersFault);
  }

  #report(line: string): void {
    if (this.#reported !== line) this.#options.report(line);
    this.#reported = line;
  }
}

const listStart = 0x5b;

/** Whether a line is a message. A long one is not read as a whole. */
function isMessage(line: Buffer): boolean {
  if (line.length <= listBytesMax) return parseLine(line) !== undefined;
  const { top } = scanLine(line);
  return top === 'object' || top === 'array';
}

function readOutgoing(body: Buffer): Outgoing {
  const parsed = parseLine(body);
  const messages = (Array.isArray(parsed) ? parsed : [parsed]).map(readObject);
  const requests = messages.filter((each) => typeof each?.method === 'string');
  const ids = requests.map((each) => readId(each!, body)).filter((id) => id !== undefined);
  return { body, message: Array.isArray(parsed) ? undefined : messages[0], wanted: new Set(ids) };
}

function describe(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message ?? 'unknown error';
}
