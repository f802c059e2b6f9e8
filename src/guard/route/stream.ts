/**
 * Follows a stream that a call returned: an async generator, another async iterable, or a web stream. The call settles
 * when the stream ends, and each chunk renews its lease. A stream that is not read settles after a time.
 */

import { patienceMaxMs, unreadStreamMs } from '../../core/limits.ts';
import { isThenable } from '../../core/thenable.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { CallEnding } from './call.ts';

/** Whether a value is a stream. */
export function isStream(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function';
  } catch {
    return false; // The value cannot be inspected.
  }
}

/** Whether a value is a web stream. */
export function isWebStream(value: object): value is ReadableStream {
  return Object.prototype.toString.call(value) === '[object ReadableStream]';
}

/** The call that returned a stream. */
export interface StreamingCall {
  readonly runtime: Runtime;
  /** Renews the lease of the call. */
  progress(): void;
}

/** The progress of a stream. */
interface Progress {
  /** A chunk arrived. */
  chunk(): void;
  /** The stream ended, broke, or its reader stopped. Only the first ending counts. */
  end(ending: CallEnding): void;
  /** The reader stopped early: a stream that gave a chunk was a success, any other says nothing about the tool. */
  stop(): void;
}

/**
 * Calls `onEnd` once when a stream ends. Returns the stream: the same object, or for a web stream another one that
 * passes on its chunks.
 */
export function followStream(call: StreamingCall, stream: object, onEnd: (ending: CallEnding) => void): object {
  const progress = trackProgress(call, stream, onEnd);
  try {
    if (isWebStream(stream)) return passOn(stream, progress);
    if (isNodeStream(stream)) return listen(stream, progress);
    return 'next' in stream ? watchIterator(stream, progress) : watchIterable(stream, progress);
  } catch {
    progress.end({ value: stream }); // A frozen or locked stream cannot be followed: the call returned.
    return stream;
  }
}

function trackProgress(call: StreamingCall, stream: object, onEnd: (ending: CallEnding) => void): Progress {
  const { runtime } = call;
  const { timeouts, clock } = runtime;
  let chunks = 0;
  let isOver = false;
  const arm = (ms: number) => {
    const timer = { dueMs: clock.nowMs() + ms, fire: () => end({ cancelled: true }) };
    timeouts.add(ms, timer);
    return timer;
  };
  let timer = arm(unreadStreamMs);
  function end(ending: CallEnding): void {
    if (isOver) return;
    isOver = true;
    timeouts.remove(timer);
    onEnd(ending);
  }
  return {
    chunk() {
      if (isOver) return;
      chunks++;
      call.progress();
      const nowMs = clock.nowMs();
      // Moving the timer with every chunk would cost more than the chunk.
      if (chunks > 1 && timer.dueMs - nowMs > patienceMaxMs / 2) return;
      timeouts.remove(timer);
      timer = arm(patienceMaxMs);
    },
    end,
    stop: () => end(chunks > 0 ? { value: stream } : { cancelled: true }),
  };
}

type Step = IteratorResult<unknown, unknown>;
type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Replaces a method of an object by one that watches its result; the object stays the same. */
function override(target: object, name: PropertyKey, make: (original: Method) => Method): void {
  const original: unknown = Reflect.get(target, name);
  if (typeof original !== 'function') return;
  Object.defineProperty(target, name, { value: make(original as Method), configurable: true, writable: true });
}

function watchIterator(iterator: object, progress: Progress): object {
  const read = (step: unknown) => {
    if ((step as Step | undefined)?.done === true) progress.end({ value: iterator });
    else progress.chunk();
  };
  const watch =
    (onStep: (step: unknown) => void) =>
    (original: Method): Method =>
      function watched(this: unknown, ...args) {
        let result: unknown;
        try {
          result = original.apply(this === undefined ? iterator : this, args);
        } catch (error) {
          progress.end({ error });
          throw error;
        }
        if (!isThenable(result)) {
          onStep(result);
          return result;
        }
        return result.then(
          (step) => {
            onStep(step);
            return step;
          },
          (error: unknown) => {
            progress.end({ error });
            throw error;
          },
        );
      };
  override(iterator, 'next', watch(read));
  override(
    iterator,
    'return',
    watch(() => progress.stop()),
  );
  override(
    iterator,
    'throw',
    watch((step) => ((step as Step | undefined)?.done === true ? progress.stop() : read(step))),
  );
  return iterator;
}

/** Watches the first iterator of an iterable object. */
function watchIterable(iterable: object, progress: Progress): object {
  let isFirst = true;
  override(
    iterable,
    Symbol.asyncIterator,
    (original) =>
      function iterate(this: unknown, ...args) {
        const iterator = original.apply(this, args);
        if (!isFirst || typeof iterator !== 'object' || iterator === null) return iterator;
        isFirst = false;
        return watchIterator(iterator, progress);
      },
  );
  return iterable;
}

interface NodeStream {
  once(event: 'close', listener: () => void): unknown;
  readonly errored?: unknown;
  readonly readableEnded?: boolean;
  readonly destroyed?: boolean;
}

function isNodeStream(stream: object): stream is NodeStream {
  return (
    'readableEnded' in stream && 'destroyed' in stream && typeof (stream as Partial<NodeStream>).once === 'function'
  );
}

/** Listens to the end of a stream of Node, which may be read in other ways than by iteration. */
function listen(stream: NodeStream, progress: Progress): object {
  const onClose = () => {
    const { errored } = stream;
    if (errored !== undefined && errored !== null) progress.end({ error: errored });
    else progress.end({ value: stream });
  };
  if (stream.destroyed === true) onClose();
  else stream.once('close', onClose);
  progress.chunk(); // Its chunks are not seen, so it has the longer patience from the start.
  return stream;
}

/** Makes a web stream that passes on the chunks of another, no earlier than they are read. */
function passOn(source: ReadableStream, progress: Progress): ReadableStream {
  const reader = source.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            progress.end({ value: source });
            controller.close();
            return;
          }
          progress.chunk();
          controller.enqueue(value);
        } catch (error) {
          progress.end({ error });
          throw error;
        }
      },
      cancel(reason) {
        progress.stop();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
