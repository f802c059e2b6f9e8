/**
 * The messages for one request of a client, or those that belong to none: one response with JSON if the answer comes
 * first, else events. A client that lost the connection goes on where it broke off.
 */

import type { ServerResponse } from 'node:http';
import { systemClock } from '../../platform/system-clock.ts';
import { answerPlainMs, beatMs, eventsBytesMax } from '../limits.ts';

interface KeptEvent {
  readonly number: number;
  readonly bytes: Buffer;
}

/**
 * Whether a client goes on with a stream that broke off: never, as since 2026-07-28; later, by the id of its last
 * event; or also after an event without data at the beginning, which older clients do not expect.
 */
export type Resuming = 'never' | 'later' | 'primed';

export class ClientStream {
  readonly #number: number;
  /** Headers of every response. */
  readonly #headers: Readonly<Record<string, string>>;
  readonly #resuming: Resuming;
  #response: ServerResponse | undefined;
  /** The last response, while its client takes it. */
  #ended: ServerResponse | undefined;
  #isEvents = false;
  #isOver = false;
  #events: KeptEvent[] = [];
  #eventsBytes = 0;
  #last = 0;
  /** The last event that was written to a response. */
  #sent = 0;
  #cancelTimer: (() => void) | undefined;

  readonly #onEvents: () => void;

  /** @param onEvents Called when the stream has events, which may be asked for later. */
  constructor(number: number, headers: Readonly<Record<string, string>>, resuming: Resuming, onEvents = () => {}) {
    this.#number = number;
    this.#headers = headers;
    this.#resuming = resuming;
    this.#onEvents = onEvents;
  }

  get isConnected(): boolean {
    return this.#response !== undefined;
  }

  /** The response, if it takes no more for now, or has ended with an answer that its client has not taken. */
  get full(): ServerResponse | undefined {
    if (this.#response?.writableNeedDrain) return this.#response;
    const ended = this.#ended;
    return ended !== undefined && ended.writableLength > ended.writableHighWaterMark ? ended : undefined;
  }

  /** Whether long events are kept. */
  get keepsLong(): boolean {
    return this.#eventsBytes > eventsBytesMax;
  }

  forgetEvents(): void {
    this.#events = [];
    this.#eventsBytes = 0;
  }

  /** Connects the response of a request. An answer that takes long begins the events, so that nobody gives up. */
  connect(response: ServerResponse, isEvents: boolean): void {
    this.#attach(response);
    if (isEvents) this.#beginEvents(0);
    else this.#cancelTimer = systemClock.after(answerPlainMs, () => this.#beginEvents(0));
  }

  /** Goes on after an event, for a client that connects again; or with what was never sent. */
  resume(response: ServerResponse, after = this.#sent): void {
    this.#response?.end();
    this.#attach(response);
    this.#beginEvents(after);
    if (this.#isOver) response.end();
  }

  /** Sends a message. The last one ends the stream. */
  send(line: Buffer, isLast: boolean): void {
    if (isLast && !this.#isEvents) this.#answerPlain(line);
    else {
      this.#beginEvents(0);
      this.#write(line);
    }
    if (isLast) this.end();
  }

  end(): void {
    this.#isOver = true;
    this.#cancelTimer?.();
    this.#response?.end();
    this.#ended = this.#response;
    this.#response = undefined;
  }

  #attach(response: ServerResponse): void {
    this.#response = response;
    response.once('close', () => {
      this.#ended = undefined;
      if (this.#response !== response) return;
      this.#response = undefined;
      this.#cancelTimer?.();
    });
  }

  #answerPlain(line: Buffer): void {
    const body = line.at(-1) === 0x0a ? line.subarray(0, -1) : line;
    const response = this.#response;
    if (response === undefined) return;
    response.writeHead(200, { ...this.#headers, 'content-type': 'application/json', 'content-length': body.length });
    // The head is written together with a text, but by itself before bytes.
    if (body.length > plainBytesMax) response.end(body);
    else response.end(body.toString('latin1'), 'latin1');
  }

  #beginEvents(after: number): void {
    const response = this.#response;
    if (!this.#isEvents) this.#onEvents();
    this.#isEvents = true;
    if (response === undefined || response.headersSent) return;
    this.#cancelTimer?.();
    response.writeHead(200, {
      ...this.#headers,
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    response.flushHeaders();
    if (this.#resuming === 'primed' && this.#last === 0)
      response.write(`id: ${this.#number}-0\nretry: 1000\ndata: \n\n`);
    for (const { number, bytes } of this.#events) if (number > after) response.write(bytes);
    this.#sent = this.#last;
    this.#beat(response);
  }

  /** Writes a comment from time to time, so that nothing between here and the client closes the connection. */
  #beat(response: ServerResponse): void {
    this.#cancelTimer = systemClock.after(beatMs, () => {
      if (this.#response !== response) return;
      response.write(': waiting\n\n');
      this.#beat(response);
    });
  }

  #write(line: Buffer): void {
    const number = ++this.#last;
    const isKept = this.#resuming !== 'never';
    const head = `event: message\n${isKept ? `id: ${this.#number}-${number}\n` : ''}data: `;
    const bytes = Buffer.concat([Buffer.from(head), line, line.at(-1) === 0x0a ? oneBreak : twoBreaks]);
    if (isKept) this.#events.push({ number, bytes });
    if (isKept) this.#eventsBytes += bytes.length;
    while (this.#eventsBytes > eventsBytesMax && this.#events.length > 1)
      this.#eventsBytes -= this.#events.shift()!.bytes.length;
    if (this.#response === undefined) return;
    this.#sent = number;
    this.#response.write(bytes);
  }
}

/** Bytes of an answer that are copied to be written with its head. */
const plainBytesMax = 65_536;
const oneBreak = Buffer.from('\n');
const twoBreaks = Buffer.from('\n\n');
