/** The line to Redis: every call has a deadline, and after the first that misses it nobody calls until it heals. */

import { SwitchgearError } from '../../core/error.ts';
import { storeDeadlineMs, storeRetryMaxMs, storeRetryMinMs } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import { createDeadlines } from './call-deadlines.ts';
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

export interface LinkOptions {
  /** A client that is not connected yet. */
  readonly client: () => RedisClient | Promise<RedisClient>;
  readonly channel: string;
  readonly deadlineMs: number;
  /** Called with a line that just came up, before anybody else may use it. */
  greet(run: Run): Promise<void>;
  /** It is up, and everybody may use it. */
  up(): void;
  down(reason: string): void;
  heard(message: string): void;
}

/** Runs a script; the deadline is the link's unless a longer one is given. */
export type Run = (
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  deadlineMs?: number,
) => Promise<Reply>;
export type Reply = readonly string[];

export interface Link {
  readonly isUp: boolean;
  /** Calls made while the line was taken to be away: the attempts to get it back. */
  readonly attempts: number;
  readonly run: Run;
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
class LineDown extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'LineDown';
  }
}

/** How many times the deadline of one operation a line may need to come up, and each word of the greeting. */
const connectFactor = 25;
const greetingFactor = 10;

export function createLink(options: LinkOptions): Link {
  let clients: readonly RedisClient[] = [];
  let state: 'up' | 'down' | 'trying' | 'closed' = 'down';
  let retryMs = storeRetryMinMs;
  let attempts = 0;
  let forget: (() => void) | undefined;
  const open = new Set<(error: Error) => void>();
  const deadlines = createDeadlines();

  function drop(reason: string, cause?: unknown): void {
    if (state === 'closed') return;
    const was = state;
    state = 'down';
    hangUp(reason, cause);
    if (was === 'up') {
      retryMs = storeRetryMinMs;
      options.down(reason);
    }
    if (was !== 'trying') again();
  }

  function hangUp(reason: string, cause?: unknown): void {
    const gone = clients;
    clients = [];
    for (const fail of [...open]) fail(new LineDown(reason, cause));
    for (const client of gone) destroy(client);
  }

  function again(): void {
    forget?.();
    forget = machineClock.after(retryMs * (0.75 + Math.random() / 2), () => void attempt());
    retryMs = Math.min(retryMs * 2, storeRetryMaxMs);
  }

  async function attempt(): Promise<unknown> {
    if (state !== 'down') return undefined;
    state = 'trying';
    attempts++;
    try {
      await within(options.deadlineMs * connectFactor, connect());
      await options.greet(run);
      if ((state as string) !== 'trying') throw new LineDown('the line was lost while it was taken up');
      state = 'up';
      retryMs = storeRetryMinMs;
      options.up();
      return undefined;
    } catch (error) {
      if ((state as string) === 'closed') return undefined;
      state = 'down';
      hangUp('the line could not be taken up');
      again();
      return error;
    }
  }

  async function connect(): Promise<void> {
    const line = await options.client();
    const ear = line.options?.RESP === 3 ? line : await options.client();
    const made = [...new Set([line, ear])];
    clients = made;
    for (const client of made) {
      client.on('error', (error) => {
        if (clients === made) drop(sentenceOf(error), error);
      });
      client.on('end', () => {
        if (clients === made) drop('Redis closed the line');
      });
    }
    await Promise.all(made.map((client) => client.connect()));
    for (const client of made) client.unref?.();
    await ear.subscribe(options.channel, (message) => {
      if (clients === made) options.heard(message);
    });
  }

  /** A promise that ends in time; one that is late fails the whole line. */
  function within<T>(ms: number, promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => {
        open.delete(fail);
        deadlines.end(deadline);
        reject(error);
      };
      open.add(fail);
      const late = () => {
        // Timers run before sockets are read: an answer that lies there already counts.
        setImmediate(() => {
          if (open.has(fail)) drop(`Redis did not answer within ${ms} ms`);
          if (open.has(fail)) fail(new LineDown(`Redis did not answer within ${ms} ms`));
        });
      };
      // Timers are late by a little: whoever waits is to know by the deadline, not after it.
      const deadline = deadlines.begin(ms * 0.9, late);
      promise.then((value) => {
        open.delete(fail);
        deadlines.end(deadline);
        resolve(value);
      }, fail);
    });
  }

  function command(args: string[], deadlineMs = options.deadlineMs): Promise<unknown> {
    const [line] = clients;
    if (line === undefined || (state !== 'up' && state !== 'trying')) {
      return Promise.reject(new LineDown('the store is away'));
    }
    return within(deadlineMs, line.sendCommand(args));
  }

  const run: Run = (script, keys, args, given) => {
    const ownMs = state === 'trying' ? options.deadlineMs * greetingFactor : options.deadlineMs;
    const deadlineMs = given === undefined ? ownMs : Math.max(given, options.deadlineMs);
    return evaluate(script, ['EVALSHA', script.sha, String(keys.length), ...keys, ...args], deadlineMs);
  };

  // No chain of promises longer than it must be: every deal goes through here.
  function evaluate(script: Script, request: string[], deadlineMs = options.deadlineMs): Promise<Reply> {
    return command(request, deadlineMs).then(checked, (error: unknown) => {
      if (!/NOSCRIPT/.test(String(error))) throw rejected(error);
      return command(['EVAL', script.text, ...request.slice(2)], deadlineMs).then(checked, (again: unknown) => {
        throw rejected(again);
      });
    });
  }

  function checked(reply: unknown): Reply {
    if (Array.isArray(reply) && reply.length >= 8) return reply.map(String);
    // A number alone, which some read as text, is a version: the whole answer of the most frequent script.
    const version = String(reply);
    if (/^\d+$/.test(version)) return ['done', '', '', '', '0', version, '0', ''];
    drop('Redis answered what no script of ours says');
    throw new LineDown('Redis answered what no script of ours says');
  }

  /** An error reply: the line lives, but the store cannot be used. */
  function rejected(error: unknown): Error {
    if (error instanceof LineDown) return error;
    drop(sentenceOf(error));
    return new LineDown(sentenceOf(error));
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
        forget?.();
        throw new SwitchgearError('store_refused', `the store cannot be used: ${sentenceOf(error)}`, { cause: error });
      }
      options.down(sentenceOf(error));
    },
    renew: (reason) => drop(reason),
    close() {
      state = 'closed';
      forget?.();
      hangUp('the store was closed');
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
  if (error instanceof LineDown && error.cause !== undefined) return isHopeless(error.cause);
  return error instanceof SwitchgearError || /WRONGPASS|NOAUTH|NOPERM|invalid username/i.test(String(error));
}

/** One sentence, without what a URL may hold. */
function sentenceOf(error: unknown): string {
  const { code, message = String(error) } = (error ?? {}) as { code?: string; message?: string };
  if (error instanceof LineDown || error instanceof SwitchgearError) return message;
  if (code === 'ECONNREFUSED') return 'nobody answers at the address of Redis';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host of Redis is not known';
  if (/WRONGPASS|NOAUTH|invalid username/i.test(message)) return 'Redis refused the user or the password';
  if (/NOPERM/.test(message)) return `Redis does not permit a command that is needed: ${message}`;
  if (/READONLY/.test(message)) return 'Redis is a replica that cannot be written';
  return `Redis said: ${message.slice(0, 200)}`;
}
