/** The connection to Redis: a call that misses its deadline closes the connection, which then reconnects. */

import { SwitchgearError } from '../../core/error.ts';
import { storeDeadlineMs, storeRetryMaxMs, storeRetryMinMs } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import { createCallDeadlines } from './call-deadlines.ts';
import type { Script } from './scripts.ts';

/** The part of the client of the package `redis` that the store uses. */
export interface RedisClient {
  connect(): Promise<unknown>;
  sendCommand(args: string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  on(event: string, listener: (error: Error) => void): unknown;
  destroy(): void;
  /** Lets the process end although the connection is open. */
  unref?(): void;
  /** A client with RESP 3 subscribes and sends on one connection; for other clients the store opens two. */
  readonly options?: { readonly RESP?: number } | undefined;
}

/** The options of `createRedisConnection`. */
export interface RedisConnectionOptions {
  /** Creates a client that is not connected yet. */
  readonly client: () => RedisClient | Promise<RedisClient>;
  readonly channel: string;
  readonly deadlineMs: number;
  /** Called with a new connection before other calls may use it. */
  handshake(run: RunScript): Promise<void>;
  /** Called when the connection is ready for all calls. */
  onUp(): void;
  onDown(reason: string): void;
  /** Returns the function that reports the end of a request; undefined if nobody measures. */
  beginOperation(operation: string): (() => void) | undefined;
  onMessage(message: string): void;
}

/** Runs a script; the deadline is that of the connection unless a longer one is given. */
export type RunScript = (
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  deadlineMs?: number,
) => Promise<Reply>;
/** The reply of a script: status, server time, identity and versions of the store, then its results. */
export type Reply = readonly string[];

/** A connection to Redis that reconnects by itself. */
export interface RedisConnection {
  readonly isUp: boolean;
  /** The number of attempts to connect. */
  readonly attempts: number;
  readonly run: RunScript;
  /** Runs a script with a complete EVALSHA request. */
  evaluate(script: Script, request: string[]): Promise<Reply>;
  command(args: string[], deadlineMs?: number): Promise<unknown>;
  /** Connects for the first time; throws `store_refused` if a retry would not help. */
  start(): Promise<void>;
  /** Closes the connection and reconnects, because the store lost data. */
  renew(reason: string): void;
  close(): void;
}

/** The error of a call whose connection was lost; the server may have executed the call. */
class ConnectionLost extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'ConnectionLost';
  }
}

/** The deadlines of connecting and of each handshake call, as multiples of the deadline of one operation. */
const connectFactor = 25;
const greetingFactor = 10;

/** Creates a connection; `start` connects it. */
export function createRedisConnection(options: RedisConnectionOptions): RedisConnection {
  return new ReconnectingConnection(options);
}

class ReconnectingConnection implements RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #pendingCalls = new Set<(error: Error) => void>();
  readonly #deadlines = createCallDeadlines();
  #clients: readonly RedisClient[] = [];
  #state: 'up' | 'down' | 'trying' | 'closed' = 'down';
  #retryMs = storeRetryMinMs;
  #attempts = 0;
  #cancelRetry: (() => void) | undefined;

  constructor(options: RedisConnectionOptions) {
    this.#options = options;
  }

  get isUp(): boolean {
    return this.#state === 'up';
  }

  get attempts(): number {
    return this.#attempts;
  }

  async start(): Promise<void> {
    const error = await this.#attempt();
    if (error === undefined) return;
    if (isHopeless(error)) {
      this.#state = 'closed';
      this.#cancelRetry?.();
      throw new SwitchgearError('store_refused', `the store cannot be used: ${describeError(error)}`, {
        cause: error,
      });
    }
    this.#options.onDown(describeError(error));
  }

  renew(reason: string): void {
    this.#disconnect(reason);
  }

  close(): void {
    this.#state = 'closed';
    this.#cancelRetry?.();
    this.#closeClients('the store was closed');
  }

  command(args: string[], deadlineMs: number = this.#options.deadlineMs): Promise<unknown> {
    const [line] = this.#clients;
    if (line === undefined || (this.#state !== 'up' && this.#state !== 'trying')) {
      return Promise.reject(new ConnectionLost('the store is unavailable'));
    }
    const endOperation = this.#options.beginOperation('request');
    const reply = this.#withDeadline(deadlineMs, line.sendCommand(args));
    return endOperation === undefined ? reply : reply.finally(endOperation);
  }

  readonly run: RunScript = (script, keys, args, customDeadlineMs) => {
    const { deadlineMs } = this.#options;
    const ownMs = this.#state === 'trying' ? deadlineMs * greetingFactor : deadlineMs;
    const scriptMs = customDeadlineMs === undefined ? ownMs : Math.max(customDeadlineMs, deadlineMs);
    return this.evaluate(script, ['EVALSHA', script.sha, String(keys.length), ...keys, ...args], scriptMs);
  };

  // Every transaction runs this, so the promise chain is as short as possible.
  evaluate(script: Script, request: string[], deadlineMs: number = this.#options.deadlineMs): Promise<Reply> {
    return this.command(request, deadlineMs).then(this.#checkReply, (error: unknown) => {
      if (!/NOSCRIPT/.test(String(error))) throw this.#rejectReply(error);
      return this.command(['EVAL', script.text, ...request.slice(2)], deadlineMs).then(
        this.#checkReply,
        (secondError: unknown) => {
          throw this.#rejectReply(secondError);
        },
      );
    });
  }

  readonly #checkReply = (reply: unknown): Reply => {
    if (Array.isArray(reply) && reply.length >= 8) return reply.map(String);
    // The swap script replies with the version alone, which some clients return as text.
    const version = String(reply);
    if (/^\d+$/.test(version)) return ['done', '', '', '', '0', version, '0', ''];
    this.#disconnect('Redis sent an unexpected reply');
    throw new ConnectionLost('Redis sent an unexpected reply');
  };

  /** Closes the connection after an error reply, because the store cannot be used. */
  #rejectReply(error: unknown): Error {
    if (error instanceof ConnectionLost) return error;
    this.#disconnect(describeError(error));
    return new ConnectionLost(describeError(error));
  }

  /** Tries to connect; a failed attempt schedules the next one and returns its error. */
  async #attempt(): Promise<unknown> {
    if (this.#state !== 'down') return undefined;
    this.#state = 'trying';
    this.#attempts++;
    try {
      await this.#withDeadline(this.#options.deadlineMs * connectFactor, this.#connect());
      await this.#options.handshake(this.run);
      if ((this.#state as string) !== 'trying')
        throw new ConnectionLost('the connection was lost during the handshake');
      this.#state = 'up';
      this.#retryMs = storeRetryMinMs;
      this.#options.onUp();
      return undefined;
    } catch (error) {
      if ((this.#state as string) === 'closed') return undefined;
      this.#state = 'down';
      this.#closeClients('the connection could not be opened');
      this.#scheduleRetry();
      return error;
    }
  }

  async #connect(): Promise<void> {
    const { client: createClient, channel, onMessage } = this.#options;
    const line = await createClient();
    const subscriber = line.options?.RESP === 3 ? line : await createClient();
    const connecting = [...new Set([line, subscriber])];
    this.#clients = connecting;
    for (const client of connecting) {
      client.on('error', (error) => {
        if (this.#clients === connecting) this.#disconnect(describeError(error), error);
      });
      client.on('end', () => {
        if (this.#clients === connecting) this.#disconnect('Redis closed the connection');
      });
    }
    await Promise.all(connecting.map((client) => client.connect()));
    for (const client of connecting) client.unref?.();
    await subscriber.subscribe(channel, (message) => {
      if (this.#clients === connecting) onMessage(message);
    });
  }

  #disconnect(reason: string, cause?: unknown): void {
    if (this.#state === 'closed') return;
    const previous = this.#state;
    this.#state = 'down';
    this.#closeClients(reason, cause);
    if (previous === 'up') {
      this.#retryMs = storeRetryMinMs;
      this.#options.onDown(reason);
    }
    if (previous !== 'trying') this.#scheduleRetry();
  }

  #closeClients(reason: string, cause?: unknown): void {
    const closing = this.#clients;
    this.#clients = [];
    for (const fail of [...this.#pendingCalls]) fail(new ConnectionLost(reason, cause));
    for (const client of closing) destroy(client);
  }

  #scheduleRetry(): void {
    this.#cancelRetry?.();
    const delayMs = this.#retryMs * (0.75 + Math.random() / 2);
    this.#cancelRetry = machineClock.after(delayMs, () => void this.#attempt());
    this.#retryMs = Math.min(this.#retryMs * 2, storeRetryMaxMs);
  }

  /** Adds a deadline to a promise; a missed deadline closes the connection. */
  #withDeadline<T>(ms: number, promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => {
        this.#pendingCalls.delete(fail);
        this.#deadlines.end(deadline);
        reject(error);
      };
      this.#pendingCalls.add(fail);
      const late = () => {
        // Timers run before sockets are read, so a reply may already have arrived.
        setImmediate(() => {
          if (this.#pendingCalls.has(fail)) this.#disconnect(`Redis did not answer within ${ms} ms`);
          if (this.#pendingCalls.has(fail)) fail(new ConnectionLost(`Redis did not answer within ${ms} ms`));
        });
      };
      // Timers fire a little late, so the timer is set to 90 % of the deadline.
      const deadline = this.#deadlines.begin(ms * 0.9, late);
      promise.then((value) => {
        this.#pendingCalls.delete(fail);
        this.#deadlines.end(deadline);
        resolve(value);
      }, fail);
    });
  }
}

/** The default deadline of one operation. */
export const defaultDeadlineMs = storeDeadlineMs;

function destroy(client: RedisClient): void {
  try {
    client.destroy();
  } catch {
    // The client was closed before.
  }
}

/** Whether a retry cannot help: wrong credentials, missing permissions, or an error of this library. */
function isHopeless(error: unknown): boolean {
  if (error instanceof ConnectionLost && error.cause !== undefined) return isHopeless(error.cause);
  return error instanceof SwitchgearError || /WRONGPASS|NOAUTH|NOPERM|invalid username/i.test(String(error));
}

/** Describes an error in one sentence without parts of the URL. */
function describeError(error: unknown): string {
  const { code, message = String(error) } = (error ?? {}) as { code?: string; message?: string };
  if (error instanceof ConnectionLost || error instanceof SwitchgearError) return message;
  if (code === 'ECONNREFUSED') return 'no Redis server answers at this address';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host name of Redis cannot be resolved';
  if (/WRONGPASS|NOAUTH|invalid username/i.test(message)) return 'Redis refused the user or the password';
  if (/NOPERM/.test(message)) return `Redis does not permit a command that is needed: ${message}`;
  if (/READONLY/.test(message)) return 'Redis is a read-only replica';
  return `Redis replied: ${message.slice(0, 200)}`;
}
