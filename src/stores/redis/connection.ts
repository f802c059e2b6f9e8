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
  command(args: string[]): Promise<unknown>;
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
  let clients: readonly RedisClient[] = [];
  let state: 'up' | 'down' | 'trying' | 'closed' = 'down';
  let retryMs = storeRetryMinMs;
  let attempts = 0;
  let cancelRetry: (() => void) | undefined;
  const pendingCalls = new Set<(error: Error) => void>();
  const deadlines = createCallDeadlines();

  function disconnect(reason: string, cause?: unknown): void {
    if (state === 'closed') return;
    const previous = state;
    state = 'down';
    closeClients(reason, cause);
    if (previous === 'up') {
      retryMs = storeRetryMinMs;
      options.onDown(reason);
    }
    if (previous !== 'trying') scheduleRetry();
  }

  function closeClients(reason: string, cause?: unknown): void {
    const closing = clients;
    clients = [];
    for (const fail of [...pendingCalls]) fail(new ConnectionLost(reason, cause));
    for (const client of closing) destroy(client);
  }

  function scheduleRetry(): void {
    cancelRetry?.();
    cancelRetry = machineClock.after(retryMs * (0.75 + Math.random() / 2), () => void attempt());
    retryMs = Math.min(retryMs * 2, storeRetryMaxMs);
  }

  async function attempt(): Promise<unknown> {
    if (state !== 'down') return undefined;
    state = 'trying';
    attempts++;
    try {
      await withDeadline(options.deadlineMs * connectFactor, connect());
      await options.handshake(run);
      if ((state as string) !== 'trying') throw new ConnectionLost('the connection was lost during the handshake');
      state = 'up';
      retryMs = storeRetryMinMs;
      options.onUp();
      return undefined;
    } catch (error) {
      if ((state as string) === 'closed') return undefined;
      state = 'down';
      closeClients('the connection could not be opened');
      scheduleRetry();
      return error;
    }
  }

  async function connect(): Promise<void> {
    const line = await options.client();
    const subscriber = line.options?.RESP === 3 ? line : await options.client();
    const connecting = [...new Set([line, subscriber])];
    clients = connecting;
    for (const client of connecting) {
      client.on('error', (error) => {
        if (clients === connecting) disconnect(describeError(error), error);
      });
      client.on('end', () => {
        if (clients === connecting) disconnect('Redis closed the connection');
      });
    }
    await Promise.all(connecting.map((client) => client.connect()));
    for (const client of connecting) client.unref?.();
    await subscriber.subscribe(options.channel, (message) => {
      if (clients === connecting) options.onMessage(message);
    });
  }

  /** Adds a deadline to a promise; a missed deadline closes the connection. */
  function withDeadline<T>(ms: number, promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => {
        pendingCalls.delete(fail);
        deadlines.end(deadline);
        reject(error);
      };
      pendingCalls.add(fail);
      const late = () => {
        // Timers run before sockets are read, so a reply may already have arrived.
        setImmediate(() => {
          if (pendingCalls.has(fail)) disconnect(`Redis did not answer within ${ms} ms`);
          if (pendingCalls.has(fail)) fail(new ConnectionLost(`Redis did not answer within ${ms} ms`));
        });
      };
      // Timers fire a little late, so the timer is set to 90 % of the deadline.
      const deadline = deadlines.begin(ms * 0.9, late);
      promise.then((value) => {
        pendingCalls.delete(fail);
        deadlines.end(deadline);
        resolve(value);
      }, fail);
    });
  }

  function command(args: string[], deadlineMs = options.deadlineMs): Promise<unknown> {
    const [line] = clients;
    if (line === undefined || (state !== 'up' && state !== 'trying')) {
      return Promise.reject(new ConnectionLost('the store is unavailable'));
    }
    return withDeadline(deadlineMs, line.sendCommand(args));
  }

  const run: RunScript = (script, keys, args, customDeadlineMs) => {
    const ownMs = state === 'trying' ? options.deadlineMs * greetingFactor : options.deadlineMs;
    const deadlineMs = customDeadlineMs === undefined ? ownMs : Math.max(customDeadlineMs, options.deadlineMs);
    return evaluate(script, ['EVALSHA', script.sha, String(keys.length), ...keys, ...args], deadlineMs);
  };

  // Every transaction runs this, so the promise chain is as short as possible.
  function evaluate(script: Script, request: string[], deadlineMs = options.deadlineMs): Promise<Reply> {
    return command(request, deadlineMs).then(checkReply, (error: unknown) => {
      if (!/NOSCRIPT/.test(String(error))) throw rejectReply(error);
      return command(['EVAL', script.text, ...request.slice(2)], deadlineMs).then(
        checkReply,
        (secondError: unknown) => {
          throw rejectReply(secondError);
        },
      );
    });
  }

  function checkReply(reply: unknown): Reply {
    if (Array.isArray(reply) && reply.length >= 8) return reply.map(String);
    // The swap script replies with the version alone, which some clients return as text.
    const version = String(reply);
    if (/^\d+$/.test(version)) return ['done', '', '', '', '0', version, '0', ''];
    disconnect('Redis sent an unexpected reply');
    throw new ConnectionLost('Redis sent an unexpected reply');
  }

  /** Closes the connection after an error reply, because the store cannot be used. */
  function rejectReply(error: unknown): Error {
    if (error instanceof ConnectionLost) return error;
    disconnect(describeError(error));
    return new ConnectionLost(describeError(error));
  }

  return {
    get isUp() {
      return state === 'up';
    },
    get attempts() {
      return attempts;
    },
    run,
    evaluate,
    command,
    async start() {
      const error = await attempt();
      if (error === undefined) return;
      if (isHopeless(error)) {
        state = 'closed';
        cancelRetry?.();
        throw new SwitchgearError('store_refused', `the store cannot be used: ${describeError(error)}`, {
          cause: error,
        });
      }
      options.onDown(describeError(error));
    },
    renew: (reason) => disconnect(reason),
    close() {
      state = 'closed';
      cancelRetry?.();
      closeClients('the store was closed');
    },
  };
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

/** Whether a retry cannot help: wrong credentials, missing permissions, or an error of ours. */
function isHopeless(error: unknown): boolean {
  if (error instanceof ConnectionLost && error.cause !== undefined) return isHopeless(error.cause);
  return error instanceof SwitchgearError || /WRONGPASS|NOAUTH|NOPERM|invalid username/i.test(String(error));
}

/** Describes an error in one sentence without parts of the URL. */
function describeError(error: unknown): string {
  const { code, message = String(error) } = (error ?? {}) as { code?: string; message?: string };
  if (error instanceof ConnectionLost || error instanceof SwitchgearError) return message;
  if (code === 'ECONNREFUSED') return 'nobody answers at the address of Redis';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host name of Redis cannot be resolved';
  if (/WRONGPASS|NOAUTH|invalid username/i.test(message)) return 'Redis refused the user or the password';
  if (/NOPERM/.test(message)) return `Redis does not permit a command that is needed: ${message}`;
  if (/READONLY/.test(message)) return 'Redis is a read-only replica';
  return `Redis replied: ${message.slice(0, 200)}`;
}
