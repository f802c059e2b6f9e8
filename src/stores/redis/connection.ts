/** The line to Redis: every call has a deadline, and after the first that misses it nobody calls until it heals. */

import { SwitchgearError } from '../../core/error.ts';
import { storeDeadlineMs, storeRetryMaxMs, storeRetryMinMs } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import { createCallDeadlines } from './call-deadlines.ts';
import type { Script } from './scripts.ts';

/** What is used of the official client, `redis`. */
export interface RedisClient {
  connect(): Promise<unknown>;
  sendCommand(args: string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  on(event: string, listener: (error: Error) => void): unknown;
  destroy(): void;
  /** Lets the process end although the line is open. */
  unref?(): void;
  /** One that speaks RESP 3 listens on the line on which it asks; for any other there are two. */
  readonly options?: { readonly RESP?: number } | undefined;
}

export interface RedisConnectionOptions {
  /** A client that is not connected yet. */
  readonly client: () => RedisClient | Promise<RedisClient>;
  readonly channel: string;
  readonly deadlineMs: number;
  /** Called with a line that just came up, before anybody else may use it. */
  handshake(run: RunScript): Promise<void>;
  /** It is up, and everybody may use it. */
  onUp(): void;
  onDown(reason: string): void;
  onMessage(message: string): void;
}

/** Runs a script; the deadline is the link's unless a longer one is given. */
export type RunScript = (
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  deadlineMs?: number,
) => Promise<Reply>;
export type Reply = readonly string[];

export interface RedisConnection {
  readonly isUp: boolean;
  /** Calls made while the line was taken to be away: the attempts to get it back. */
  readonly attempts: number;
  readonly run: RunScript;
  /** The same with a request that is written already: EVALSHA, and what belongs to it. */
  evaluate(script: Script, request: string[]): Promise<Reply>;
  command(args: string[]): Promise<unknown>;
  /** The first attempt; throws where trying again would not help. */
  start(): Promise<void>;
  /** Lets go of the line and takes it up again: the store is not what it was. */
  renew(reason: string): void;
  close(): void;
}

/** Why a call came to nothing; whether it was carried out nobody knows. */
class ConnectionLost extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'LineDown';
  }
}

/** How many times the deadline of one operation a line may need to come up, and each word of the greeting. */
const connectFactor = 25;
const greetingFactor = 10;

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
      if ((state as string) !== 'trying') throw new ConnectionLost('the line was lost while it was taken up');
      state = 'up';
      retryMs = storeRetryMinMs;
      options.onUp();
      return undefined;
    } catch (error) {
      if ((state as string) === 'closed') return undefined;
      state = 'down';
      closeClients('the line could not be taken up');
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
        if (clients === connecting) disconnect('Redis closed the line');
      });
    }
    await Promise.all(connecting.map((client) => client.connect()));
    for (const client of connecting) client.unref?.();
    await subscriber.subscribe(options.channel, (message) => {
      if (clients === connecting) options.onMessage(message);
    });
  }

  /** A promise that ends in time; one that is late fails the whole line. */
  function withDeadline<T>(ms: number, promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => {
        pendingCalls.delete(fail);
        deadlines.end(deadline);
        reject(error);
      };
      pendingCalls.add(fail);
      const late = () => {
        // Timers run before sockets are read: an answer that lies there already counts.
        setImmediate(() => {
          if (pendingCalls.has(fail)) disconnect(`Redis did not answer within ${ms} ms`);
          if (pendingCalls.has(fail)) fail(new ConnectionLost(`Redis did not answer within ${ms} ms`));
        });
      };
      // Timers are late by a little: whoever waits is to know by the deadline, not after it.
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
      return Promise.reject(new ConnectionLost('the store is away'));
    }
    return withDeadline(deadlineMs, line.sendCommand(args));
  }

  const run: RunScript = (script, keys, args, customDeadlineMs) => {
    const ownMs = state === 'trying' ? options.deadlineMs * greetingFactor : options.deadlineMs;
    const deadlineMs = customDeadlineMs === undefined ? ownMs : Math.max(customDeadlineMs, options.deadlineMs);
    return evaluate(script, ['EVALSHA', script.sha, String(keys.length), ...keys, ...args], deadlineMs);
  };

  // No chain of promises longer than it must be: every deal goes through here.
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
    // A number alone, which some read as text, is a version: the whole answer of the most frequent script.
    const version = String(reply);
    if (/^\d+$/.test(version)) return ['done', '', '', '', '0', version, '0', ''];
    disconnect('Redis answered what no script of ours says');
    throw new ConnectionLost('Redis answered what no script of ours says');
  }

  /** An error reply: the line lives, but the store cannot be used. */
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

export const defaultDeadlineMs = storeDeadlineMs;

function destroy(client: RedisClient): void {
  try {
    client.destroy();
  } catch {
    // It was closed before; there is nothing left to let go.
  }
}

/** Errors that time does not heal. */
function isHopeless(error: unknown): boolean {
  if (error instanceof ConnectionLost && error.cause !== undefined) return isHopeless(error.cause);
  return error instanceof SwitchgearError || /WRONGPASS|NOAUTH|NOPERM|invalid username/i.test(String(error));
}

/** One sentence, without what a URL may hold. */
function describeError(error: unknown): string {
  const { code, message = String(error) } = (error ?? {}) as { code?: string; message?: string };
  if (error instanceof ConnectionLost || error instanceof SwitchgearError) return message;
  if (code === 'ECONNREFUSED') return 'nobody answers at the address of Redis';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host of Redis is not known';
  if (/WRONGPASS|NOAUTH|invalid username/i.test(message)) return 'Redis refused the user or the password';
  if (/NOPERM/.test(message)) return `Redis does not permit a command that is needed: ${message}`;
  if (/READONLY/.test(message)) return 'Redis is a replica that cannot be written';
  return `Redis said: ${message.slice(0, 200)}`;
}
