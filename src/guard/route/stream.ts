/**
 * Follows a stream that a call returned: a generator, an async iterable, a web stream or a stream of Node.
 * The call settles when the stream ends, and each chunk renews its lease. A chunk that does not come in time, and the
 * halt of the task, cut the stream. A stream that is not read settles after a time.
 */

import { patienceMaxMs, unreadStreamMs } from '../../core/limits.ts';
import { RefusedError } from '../../core/refusal.ts';
import { isThenable } from '../../core/thenable.ts';
import { applyInside, type Frame } from '../runtime/async-context.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';
import type { CallEnding } from './call.ts';
import type { CallSite } from './call-site.ts';
import { afterHalt, type LiveCall, timeoutError } from './live-call.ts';
import { isNodeStream, watchNodeStream } from './node-stream.ts';
import { isWebStream, override, type WatchedSource, watchWebStream } from './web-stream.ts';

/** Whether a value is a stream. */
export function isStream(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function' || isGenerator(value);
  } catch {
    return false; // The value cannot be inspected.
  }
}

/** Whether a value is the generator of a synchronous function. */
function isGenerator(value: object): boolean {
  return (
    typeof (value as Partial<Generator>).next === 'function' &&
    Object.prototype.toString.call(value) === '[object Generator]'
  );
}

/** The call that returned a stream. */
export interface StreamingCall {
  readonly runtime: Runtime;
  /** The site whose limits cut the stream; undefined if the host keeps the stream. */
  readonly site?: CallSite;
  /** The signal of the host, which cuts the stream, too. */
  readonly hostSignal?: AbortSignal | undefined;
  /** The context of the call, in which a generator runs. */
  readonly frame?: Frame;
  /** Renews the lease of the call. */
  progress(): void;
  /** Aborts the signal of the call. */
  abort?(reason: unknown): void;
}

/** The streaming part of a guarded call. */
export function streamingCall(call: LiveCall, hostSignal?: AbortSignal): StreamingCall {
  return {
    runtime: call.runtime,
    site: call.site,
    hostSignal,
    frame: call,
    progress: () => call.progress(),
    abort: (reason) => call.abort(reason),
  };
}

/** Receives the ending of a stream, and the stream itself if it was not read to its end. */
export type StreamEnd = (ending: CallEnding, partial?: object) => void;

/** Ends the request of a reader before its chunk comes. */
type Reject = (error: unknown) => void;

/**
 * Calls `onEnd` once when a stream ends, breaks or is cut. Returns the same stream, with its methods watched. A stream
 * that several calls returned is watched once, for all of them.
 */
export function followStream(call: StreamingCall, stream: object, onEnd: StreamEnd): object {
  const follower = new Follower(call, stream, onEnd);
  const known = sources.get(stream);
  if (known !== undefined) {
    known.follow(follower);
    return stream;
  }
  try {
    const source = new StreamSource(isGenerator(stream));
    source.follow(follower);
    if (isWebStream(stream)) watchWebStream(stream, source);
    else if (isNodeStream(stream)) watchNodeStream(stream, source);
    else if ('next' in stream) watchIterator(stream, source);
    else watchIterable(stream, source);
    sources.set(stream, source);
  } catch {
    follower.end({ value: stream }); // A frozen or locked stream cannot be followed: the call returned.
  }
  return stream;
}

const sources = new WeakMap<object, StreamSource>();

/** One call that follows a stream. */
class Follower {
  readonly call: StreamingCall;
  readonly #stream: object;
  readonly #onEnd: StreamEnd;
  readonly #isCut: boolean;
  /** Requests without a chunk, and how to end them. */
  readonly #requests = new Set<Reject>();
  #chunks = 0;
  #isOver = false;
  #patience: { readonly dueMs: number };
  #chunkLimit: object | undefined;
  /** Ends the source when the stream is cut. */
  close: ((error: unknown) => void) | undefined;
  /** The error of a cut that no reader got yet. */
  cutError: unknown;
  /** Whether an iterator of the stream is watched for this call. */
  isRead = false;

  constructor(call: StreamingCall, stream: object, onEnd: StreamEnd) {
    this.call = call;
    this.#stream = stream;
    this.#onEnd = onEnd;
    this.#isCut = call.site !== undefined && !isObserving(call.runtime);
    this.#patience = this.#wait(unreadStreamMs);
    if (this.#isCut) call.hostSignal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** A reader asks for a chunk: its time begins. */
  ask(reject: Reject): void {
    if (this.#isOver || !this.#isCut) return;
    const { runtime, site } = this.call;
    this.#requests.add(reject);
    if (this.#requests.size > 1) return;
    runtime.hold.begin();
    if (this.call.hostSignal?.aborted) this.#onAbort();
    const { timeoutMs, target } = site!;
    if (this.#isOver || timeoutMs <= 0) return;
    const fire = () => {
      const error = timeoutError(target.name, timeoutMs / 1000);
      this.#cut({ error }, error);
    };
    const link = { dueMs: runtime.clock.nowMs() + timeoutMs, fire };
    this.#chunkLimit = link;
    runtime.timeouts.add(timeoutMs, link);
  }

  /** The reader got its answer. */
  answer(reject: Reject): void {
    if (this.#requests.delete(reject) && this.#requests.size === 0) this.#rest();
  }

  chunk(): void {
    if (this.#isOver) return;
    const { runtime } = this.call;
    this.#chunks++;
    this.call.progress();
    // Moving the timer with every chunk would cost more than the chunk.
    if (this.#chunks > 1 && this.#patience.dueMs - runtime.clock.nowMs() > patienceMaxMs / 2) return;
    runtime.timeouts.remove(this.#patience as never);
    this.#patience = this.#wait(patienceMaxMs);
  }

  /** The stream ended, broke, or its reader stopped. Only the first ending counts. */
  end(ending: CallEnding, isPartial = !('value' in ending)): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.call.runtime.timeouts.remove(this.#patience as never);
    this.call.hostSignal?.removeEventListener('abort', this.#onAbort);
    this.#onEnd(ending, isPartial ? this.#stream : undefined);
  }

  /** The reader stopped early: a stream that gave a chunk was a success, any other says nothing about the tool. */
  stop(): void {
    this.end(this.#chunks > 0 ? { value: this.#stream } : { cancelled: true }, true);
  }

  #wait(ms: number): { readonly dueMs: number } {
    const { timeouts, clock } = this.call.runtime;
    const fire = () => this.end({ cancelled: true });
    const link = { dueMs: clock.nowMs() + ms, fire, endIfHalted: () => this.#endIfHalted() };
    timeouts.add(ms, link);
    return link;
  }

  #endIfHalted(): void {
    const { runtime, site } = this.call;
    const task = site?.task;
    if (this.#isCut) afterHalt(runtime, task, () => this.#cut({ cancelled: true }, new RefusedError(task!.halt!)));
  }

  readonly #onAbort = (): void => this.#cut({ cancelled: true }, this.call.hostSignal?.reason);

  /** Ends the stream for its readers, and its source. */
  #cut(ending: CallEnding, cutError: unknown): void {
    if (this.#isOver) return;
    this.call.abort?.(cutError);
    this.end(ending);
    const requests = [...this.#requests];
    this.#requests.clear();
    if (requests.length > 0) this.#rest();
    else this.cutError = cutError;
    for (const reject of requests) reject(cutError);
    try {
      this.close?.(cutError);
    } catch {
      // The source is out of order; its readers have been told.
    }
  }

  #rest(): void {
    const { runtime } = this.call;
    runtime.hold.end();
    if (this.#chunkLimit !== undefined) runtime.timeouts.remove(this.#chunkLimit as never);
    this.#chunkLimit = undefined;
  }
}

/** The calls that follow one stream. */
class StreamSource implements WatchedSource {
  #followers: Follower[] = [];
  #isClosed = false;
  /** Whether its readers expect no promises. */
  readonly #isSync: boolean;
  close: ((error: unknown) => void) | undefined;

  constructor(isSync: boolean) {
    this.#isSync = isSync;
  }

  follow(follower: Follower): void {
    this.#followers = [...this.#followers.filter(({ isOver }) => !isOver), follower];
    follower.close = (error) => {
      this.#isClosed = true;
      this.close?.(error);
    };
  }

  /** The calls that no iterator was made for yet; a call that was cut has its error for the reader. */
  takeUnread(): readonly Follower[] {
    const unread = this.#followers.filter(
      ({ isRead, isOver, cutError }) => !isRead && (!isOver || cutError !== undefined),
    );
    for (const follower of unread) follower.isRead = true;
    return unread;
  }

  chunk(): void {
    for (const follower of this.#followers) follower.chunk();
  }

  end(ending: CallEnding): void {
    for (const follower of this.#followers) follower.end(ending);
  }

  stop(): void {
    for (const follower of this.#followers) follower.stop();
  }

  /** Runs one request of a reader: watches its answer, and ends it when the stream is cut. */
  request<T>(run: () => T, onAnswer: (answer: Awaited<T>) => void): T {
    const cut = this.#followers.find(({ cutError }) => cutError !== undefined);
    if (cut !== undefined) {
      const error = cut.cutError;
      cut.cutError = undefined;
      if (this.#isSync) throw error;
      return Promise.reject(error) as T;
    }
    if (this.#isClosed) {
      const over = { done: true, value: undefined };
      return (this.#isSync ? over : Promise.resolve(over)) as T;
    }
    let result: T;
    try {
      result = this.#runInCall(run);
    } catch (error) {
      this.end({ error });
      throw error;
    }
    if (this.#isSync || !isThenable(result)) {
      onAnswer(result as Awaited<T>);
      return result;
    }
    return new Promise<unknown>((resolve, reject) => {
      const followers = this.#followers;
      for (const follower of followers) follower.ask(reject);
      const answered = () => {
        for (const follower of followers) follower.answer(reject);
      };
      result.then(
        (answer) => {
          answered();
          onAnswer(answer as Awaited<T>);
          resolve(answer);
        },
        (error: unknown) => {
          answered();
          this.end({ error });
          reject(error);
        },
      );
    }) as T;
  }

  /** A generator runs in the context of its call, in which it finds the signal. */
  #runInCall<T>(run: () => T): T {
    const frame = this.#followers.find(({ isOver }) => !isOver)?.call.frame;
    return frame === undefined ? run() : (applyInside(frame, run, undefined, []) as T);
  }
}

type Step = IteratorResult<unknown, unknown>;
type Method = (this: unknown, ...args: unknown[]) => unknown;

function watchIterator(iterator: object, source: StreamSource): void {
  const read = (step: unknown) => {
    if ((step as Step | undefined)?.done === true) source.end({ value: iterator });
    else source.chunk();
  };
  const watch =
    (onStep: (step: unknown) => void) =>
    (original: Method): Method =>
      function watched(this: unknown, ...args) {
        return source.request(() => original.apply(this === undefined ? iterator : this, args), onStep);
      };
  const stop: unknown = Reflect.get(iterator, 'return');
  source.close = () => {
    const stopped: unknown = typeof stop === 'function' ? Reflect.apply(stop, iterator, []) : undefined;
    if (isThenable(stopped)) stopped.then(undefined, () => {});
  };
  override(iterator, 'next', watch(read));
  override(
    iterator,
    'return',
    watch(() => source.stop()),
  );
  override(
    iterator,
    'throw',
    watch((step) => ((step as Step | undefined)?.done === true ? source.stop() : read(step))),
  );
}

/** Watches one iterator of an iterable object for each call that returned the object. */
function watchIterable(iterable: object, source: StreamSource): void {
  override(
    iterable,
    Symbol.asyncIterator,
    (original) =>
      function iterate(this: unknown, ...args) {
        const iterator = original.apply(this, args);
        if (typeof iterator !== 'object' || iterator === null) return iterator;
        const unread = source.takeUnread();
        if (unread.length === 0) return iterator;
        const known = sources.get(iterator);
        const ofIterator = known ?? new StreamSource(false);
        for (const follower of unread) ofIterator.follow(follower);
        if (known === undefined) watchIterator(iterator, ofIterator);
        sources.set(iterator, ofIterator);
        return iterator;
      },
  );
}
